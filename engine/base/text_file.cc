#include "engine/base/text_file.h"

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <system_error>

#include "engine/base/config_error.h"

namespace hoccl::engine {

std::string read_text_file(const std::filesystem::path& file, std::string_view expected) {
  std::error_code error;
  std::ifstream in(file, std::ios::binary);
  // A folder opens like a file and reads as an empty one.
  if (!in || std::filesystem::is_directory(file, error)) {
    throw ConfigError(fmt::format("{}: cannot be read: expected {}", file.string(), expected));
  }
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace hoccl::engine
