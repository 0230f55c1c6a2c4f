#pragma once

#include "hw/calibrate/sample_series.h"

namespace hoccl::hw {

class CopyPath;

// What the engine of one copy class needs, by the GPU's clock, while it is never short of work.
// Throw CudaError, CalibrationFailed.

/// One by one in one stream, every size; the same with a signal behind each copy.
void measure_copies(CopyPath& path, Samples& samples);
void measure_signals(CopyPath& path, Samples& samples);
void measure_batches(CopyPath& path, Samples& samples);
/// Two streams in turn; one copy in each of many.
void measure_streams(CopyPath& path, Samples& samples);
/// Both engines at once.
void measure_both_ways(CopyPath& path, CopyPath& other, Samples& samples);

}  // namespace hoccl::hw
