#include "engine/trace/atomic_file.h"

#include <fmt/format.h>

#include <system_error>
#include <utility>

#include "engine/base/config_error.h"

namespace hoccl::engine {

AtomicFile::AtomicFile(std::filesystem::path path)
    : path_(std::move(path)), temporary_(path_.string() + ".partial") {
  stream_.open(temporary_, std::ios::binary | std::ios::trunc);
  if (!stream_) {
    throw ConfigError(
        fmt::format("{}: cannot be created; expected a file in a writable folder", path_.string()));
  }
}

AtomicFile::~AtomicFile() {
  if (committed_) return;
  stream_.close();
  std::error_code ignored;  // the partial file may be gone; nothing else can be done about it
  std::filesystem::remove(temporary_, ignored);
}

void AtomicFile::commit() {
  stream_.close();
  std::error_code error;
  if (stream_) std::filesystem::rename(temporary_, path_, error);
  if (!stream_ || error) {
    throw ConfigError(fmt::format("{}: cannot be written{}{}", path_.string(), error ? ": " : "",
                                  error ? error.message() : ""));
  }
  committed_ = true;
}

}  // namespace hoccl::engine
