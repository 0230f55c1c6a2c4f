#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "engine/trace/atomic_file.h"

namespace hoccl::cli {

/// Opens the file of an option before anything is computed, so that a bad path fails at once; null
/// when the option was not given. Throws ConfigError naming option and file.
std::unique_ptr<engine::AtomicFile> open_output(std::string_view option, const std::string& path);

}  // namespace hoccl::cli
