#pragma once

#include <filesystem>
#include <fstream>

namespace hoccl::engine {

/// A text file that appears under its name only when it is complete: it is written beside it and
/// renamed by commit(). Without commit() nothing remains.
class AtomicFile {
 public:
  /// Throws ConfigError naming the file when it cannot be created.
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  [[nodiscard]] std::ostream& stream() { return stream_; }

  /// Throws ConfigError naming the file when not all of it could be written.
  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  std::ofstream stream_;
  bool committed_ = false;
};

}  // namespace hoccl::engine
