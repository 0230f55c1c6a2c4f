#pragma once

#include "experiments/hoccl/options.h"

namespace hoccl::cli {

/// `hoccl calibrate`: measures a GPU, or reads recorded samples; writes the calibration and prints
/// what it found. Returns 0 when all parts could be measured, else 1: the rest is written all the
/// same. Throws ConfigError.
int run_calibrate(const CalibrateOptions& options);

}  // namespace hoccl::cli
