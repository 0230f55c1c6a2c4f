#include "experiments/hoccl/output_file.h"

#include <fmt/format.h>

#include <filesystem>

#include "engine/base/config_error.h"

namespace hoccl::cli {

std::unique_ptr<engine::AtomicFile> open_output(std::string_view option, const std::string& path) {
  if (path.empty()) return nullptr;
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    throw engine::ConfigError(
        fmt::format("{} = '{}': is a folder; expected a file to write", option, path));
  }
  try {
    return std::make_unique<engine::AtomicFile>(path);
  } catch (const engine::ConfigError& failure) {
    throw engine::ConfigError(fmt::format("{} = {}", option, failure.what()));
  }
}

}  // namespace hoccl::cli
