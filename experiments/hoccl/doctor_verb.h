#pragma once

#include "experiments/hoccl/options.h"

namespace hoccl::cli {

/// `hoccl doctor`: prints a table of checks to stdout; under a launcher on rank 0 only, for as many
/// ranks as the job has. Returns 0 when there is no problem, else 1.
/// Throws ConfigError.
int run_doctor(const DoctorOptions& options);

}  // namespace hoccl::cli
