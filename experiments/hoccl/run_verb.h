#pragma once

#include "experiments/hoccl/options.h"

namespace hoccl::cli {

/// `hoccl run`: one rank of a job when a launcher started this process, else the launcher of as
/// many local processes as there are ranks. Rank 0 prints the table to stdout. Returns the exit
/// code. Throws ConfigError before anything is started; hw::BootstrapError, hw::RunFailed and
/// hw::SystemError afterwards.
int run_run(const RunOptions& options);

}  // namespace hoccl::cli
