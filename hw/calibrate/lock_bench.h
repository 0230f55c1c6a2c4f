#pragma once

#include "hw/calibrate/sample_series.h"

namespace hoccl::hw {

/// How long a call of the driver keeps the other threads of this process out of it: the time per
/// call of threads that do nothing else, together (kLockTime). Throws CudaError, CalibrationFailed.
void measure_lock(int device, Samples& samples);

}  // namespace hoccl::hw
