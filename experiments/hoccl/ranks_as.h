#pragma once

#include <string>
#include <string_view>

namespace hoccl::cli {

/// What the ranks of one host are.
inline constexpr const char* kProcesses = "processes";
inline constexpr const char* kThreads = "threads";  ///< of one process

/// Throws ConfigError, naming `where`.
bool ranks_are_threads(std::string_view where, const std::string& text);

}  // namespace hoccl::cli
