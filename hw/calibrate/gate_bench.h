#pragma once

#include "hw/calibrate/sample_series.h"

namespace hoccl::hw {

/// Gates on streams of the current device, as CUDA_DEVICE_MAX_CONNECTIONS is set: latencies, what
/// the calls cost, and what work of the GPU loses by them. The work is memsets, which run on SMs.
/// Throws CudaError, CalibrationFailed.
void measure_gates(Samples& samples);

}  // namespace hoccl::hw
