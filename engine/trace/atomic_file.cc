#include "engine/trace/atomic_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>

#include "engine/base/config_error.h"

namespace hoccl::engine {
namespace {

namespace fs = std::filesystem;

/// The file that the path leads to, existing or not; none where it must be written in place.
std::optional<fs::path> find_replaceable(const fs::path& path) {
  std::error_code error;
  const fs::file_type type = fs::status(path, error).type();
  if (type == fs::file_type::character || type == fs::file_type::fifo) return std::nullopt;
  if (type == fs::file_type::regular) {
    fs::path real = fs::canonical(path, error);
    if (error) return std::nullopt;  // as of /dev/fd/N when the file has been unlinked
    return real;
  }
  // A folder, a socket, a link that leads nowhere. What cannot be looked at fails when it is made.
  if (fs::exists(fs::symlink_status(path, error))) {
    throw ConfigError(
        fmt::format("{}: is no regular file; expected a file to write or replace", path.string()));
  }
  return path;
}

/// Makes an empty file of a name that nobody has, and returns the name.
fs::path create_beside(const fs::path& path) {
  for (int i = 0;; ++i) {
    const std::string name = fmt::format("{}.partial-{}", path.string(), i);
    // "x": two processes that write the same file never get the same name.
    if (std::FILE* file = std::fopen(name.c_str(), "wx")) {
      std::fclose(file);
      return name;
    }
    if (errno != EEXIST) {
      throw ConfigError(fmt::format("{}: cannot be created; expected a file in a writable folder",
                                    path.string()));
    }
  }
}

bool write(const fs::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  return static_cast<bool>(file);
}

}  // namespace

AtomicFile::AtomicFile(const fs::path& path) : path_(path), replaceable_(find_replaceable(path)) {
  if (replaceable_) fs::remove(create_beside(*replaceable_));
}

void AtomicFile::commit() {
  const std::string text = std::move(stream_).str();
  if (!replaceable_) {
    if (!write(path_, text))
      throw ConfigError(fmt::format("{}: cannot be written", path_.string()));
    return;
  }
  const fs::path temporary = create_beside(*replaceable_);
  std::error_code error;
  const bool written = write(temporary, text);
  if (written) fs::rename(temporary, *replaceable_, error);
  if (written && !error) return;
  std::error_code ignored;  // nothing else can be done about it
  fs::remove(temporary, ignored);
  throw ConfigError(fmt::format("{}: cannot be written{}{}", path_.string(), error ? ": " : "",
                                error ? error.message() : ""));
}

}  // namespace hoccl::engine
