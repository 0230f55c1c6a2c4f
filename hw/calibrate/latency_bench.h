#pragma once

#include "hw/calibrate/sample_series.h"

namespace hoccl::hw {

class CopyPath;

/// From the call of a copy on an idle engine until the CPU sees its end, by each of the signs that
/// there are; and what the calls cost the CPU meanwhile. Throws CudaError, CalibrationFailed.
void measure_latencies(CopyPath& path, Samples& samples);

}  // namespace hoccl::hw
