#pragma once

#include "experiments/hoccl/options.h"

namespace hoccl::cli {

/// `hoccl sim`: prints the table to stdout. Throws ConfigError, or sim::RunError when a simulation
/// ends without a result.
void run_sim(const SimOptions& options);

}  // namespace hoccl::cli
