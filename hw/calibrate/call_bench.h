#pragma once

#include "hw/calibrate/sample_series.h"

namespace hoccl::hw {

class CopyPath;

// CPU time of calls. Throw CudaError, CalibrationFailed.

/// Of copies, batches and the events behind them, into a stream that has work.
void measure_copy_calls(CopyPath& path, Samples& samples);
/// Of what does not copy.
void measure_stream_calls(Samples& samples);

}  // namespace hoccl::hw
