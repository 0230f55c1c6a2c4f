#pragma once

#include <vector>

#include "hw/calibrate/measured_constants.h"
#include "hw/calibrate/sample_series.h"
#include "sim/calibration/calibration.h"

namespace hoccl::cli {

/// To stdout: medians of what was measured as tables, in microseconds, with [p10, p90] where they
/// matter. What was not measured is "-".
void print_samples(const hw::Samples& samples);
/// To stdout: each constant beside the base's.
void print_constants(const std::vector<hw::MeasuredConstant>& constants,
                     const sim::Calibration& base);

}  // namespace hoccl::cli
