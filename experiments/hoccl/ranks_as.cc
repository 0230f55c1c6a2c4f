#include "experiments/hoccl/ranks_as.h"

#include <fmt/format.h>

#include "engine/base/config_error.h"

namespace hoccl::cli {

bool ranks_are_threads(std::string_view where, const std::string& text) {
  if (text == kThreads) return true;
  if (text == kProcesses) return false;
  throw engine::ConfigError(
      fmt::format("{} = '{}': expected {} or {}", where, text, kProcesses, kThreads));
}

}  // namespace hoccl::cli
