#pragma once

#include "hw/calibrate/calibrate.h"

namespace hoccl::hw {

// What calibrate.h declares, where there is CUDA and this GPU.
MachineSamples measure_with_cuda(int device, const std::vector<std::string>& gate_words,
                                 const Progress& progress);
Samples measure_gates_with_cuda(int device);

}  // namespace hoccl::hw
