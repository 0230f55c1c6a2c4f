#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "hw/system/file_descriptor.h"

namespace hoccl::hw::test {

/// A program that runs beside the test, with its stdout and stderr in one pipe.
class ProgramRun {
 public:
  explicit ProgramRun(const std::vector<std::string>& command);
  /// Kills it if it still runs.
  ~ProgramRun();
  ProgramRun(const ProgramRun&) = delete;
  ProgramRun& operator=(const ProgramRun&) = delete;

  [[nodiscard]] pid_t process() const { return process_; }
  /// Waits until its output has `count` lines; all it has said so far, or less after a while.
  std::string await_lines(int count);
  /// Waits until nobody can write to its output any more, so until all processes it has started
  /// are gone, too. All it has said.
  std::string await_end();
  /// After await_end(): its exit code, 128 + signal when it was killed.
  int exit_code();

 private:
  pid_t process_ = -1;
  FileDescriptor output_;
  std::string text_;
};

}  // namespace hoccl::hw::test
