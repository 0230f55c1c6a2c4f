#pragma once

#include "experiments/hoccl/options.h"

namespace hoccl::cli {

/// `hoccl validate`: measures (or reads what was measured), simulates the same and prints both side
/// by side. Returns the exit code: that of the measurement when it fails. Throws ConfigError, or
/// sim::RunError when a simulation ends without a result.
int run_validate(const ValidateOptions& options);

}  // namespace hoccl::cli
