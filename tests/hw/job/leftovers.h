#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <utility>

namespace hoccl::hw {

/// Finds what a job has left behind in this process and on this machine.
class Leftovers {
 public:
  /// Remembers what is there before the job. From here on, orphaned grandchildren are ours.
  Leftovers();

  /// Names one child process, descriptor, mapping, socket or file too many; empty when there is
  /// none.
  [[nodiscard]] std::string find() const;

 private:
  std::map<int, std::pair<dev_t, ino_t>> descriptors_;  ///< by number: device and inode
};

}  // namespace hoccl::hw
