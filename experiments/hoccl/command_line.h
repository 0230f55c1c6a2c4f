#pragma once

#include <string>
#include <variant>
#include <vector>

#include "experiments/hoccl/options.h"

namespace hoccl::cli {

/// Text to print to stdout instead of doing anything: --help, --version.
struct HelpText {
  std::string text;
};

using Verb = std::variant<HelpText, PlanOptions, SimOptions, RunOptions, ValidateOptions,
                          TrainOptions, DoctorOptions, CalibrateOptions>;

/// Reads the words after the program's name. Throws ConfigError of one line naming the option, its
/// value and what was expected. Looks at the command line only: names of topologies, patterns and
/// calibrations are checked by whoever resolves them.
Verb parse_command_line(const std::vector<std::string>& words);

}  // namespace hoccl::cli
