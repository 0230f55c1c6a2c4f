#pragma once

#include <string>
#include <vector>

#include "hw/calibrate/sample_series.h"

namespace hoccl::hw {

/// Runs this very program with `words` and CUDA_DEVICE_MAX_CONNECTIONS=`connections`, and reads the
/// samples that it prints. Throws CalibrationFailed, also when it does not end in time.
Samples gates_of_another_process(const std::vector<std::string>& words, int connections);

}  // namespace hoccl::hw
