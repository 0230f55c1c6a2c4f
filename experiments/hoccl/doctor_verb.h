#pragma once

#include "experiments/hoccl/options.h"

namespace hoccl::cli {

/// `hoccl doctor`: prints a table of checks to stdout. Returns 0 when there is no problem, else 1.
/// Throws ConfigError.
int run_doctor(const DoctorOptions& options);

}  // namespace hoccl::cli
