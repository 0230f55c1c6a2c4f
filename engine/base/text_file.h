#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace hoccl::engine {

/// The whole content of a file. Throws ConfigError when it cannot be read: "FILE: cannot be read:
/// expected `expected`".
std::string read_text_file(const std::filesystem::path& file, std::string_view expected);

}  // namespace hoccl::engine
