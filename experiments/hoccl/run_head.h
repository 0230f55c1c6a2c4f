#pragma once

#include <string>
#include <vector>

#include "experiments/hoccl/report.h"
#include "hw/run/scenario.h"

namespace hoccl::cli {

/// What the table of `hoccl run` says about all its rows. `words`: the command line as typed,
/// without the program's name; `pattern`: its name. The host is this process's.
ReportHead make_run_head(const std::vector<std::string>& words, const std::string& pattern,
                         const hw::RunScenario& scenario, const std::string& device);

}  // namespace hoccl::cli
