#pragma once

#include "experiments/hoccl/options.h"

namespace hoccl::cli {

/// `hoccl plan`: prints the schedule to stdout. Throws ConfigError.
void run_plan(const PlanOptions& options);

}  // namespace hoccl::cli
