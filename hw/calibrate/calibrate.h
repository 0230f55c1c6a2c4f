#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "hw/calibrate/sample_series.h"

namespace hoccl::hw {

/// Told when a part of the measurement has ended.
using Progress = std::function<void(std::string_view)>;

struct MachineSamples {
  Samples samples;
  std::vector<std::string> failures;  ///< of parts, one line each; the others are there
};

/// Throws ConfigError: this program has no CUDA, or this machine no such GPU.
void require_gpu(int device);

/// Measures a GPU for about half a minute. `gate_words`: how this program is called, without its
/// name, to print measure_gates_here(): as CUDA reads CUDA_DEVICE_MAX_CONNECTIONS when it starts, a
/// process of its own measures the gates for each value. Throws as require_gpu().
MachineSamples measure_machine(int device, const std::vector<std::string>& gate_words,
                               const Progress& progress);

/// As this process's environment sets CUDA up. Throws as require_gpu(), CudaError,
/// CalibrationFailed.
Samples measure_gates_here(int device);

}  // namespace hoccl::hw
