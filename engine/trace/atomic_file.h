#pragma once

#include <filesystem>
#include <optional>
#include <sstream>

namespace hoccl::engine {

/// A text file that appears under its name only when it is complete: its text is kept in memory,
/// written beside it and renamed by commit(). Without commit() nothing remains, however the process
/// ends. Links are followed. What cannot be replaced (a character device, a pipe, an open file that
/// has lost its name) is written to in place, by commit().
class AtomicFile {
 public:
  /// Throws ConfigError naming the file when it cannot be created, or is neither a file nor
  /// something that can be written to in place.
  explicit AtomicFile(const std::filesystem::path& path);

  [[nodiscard]] std::ostream& stream() { return stream_; }

  /// Throws ConfigError naming the file when not all of it could be written.
  void commit();

 private:
  std::filesystem::path path_;                        ///< as given
  std::optional<std::filesystem::path> replaceable_;  ///< links resolved; none: in place
  std::ostringstream stream_;
};

}  // namespace hoccl::engine
