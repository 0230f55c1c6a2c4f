#pragma once

#include <string>
#include <vector>

#include "experiments/hoccl/options.h"

namespace hoccl::cli {

/// The command line, without the program's name, that the parser reads back as these options: what
/// is not in `options.words` yet.
std::vector<std::string> run_words(const RunOptions& options);

}  // namespace hoccl::cli
