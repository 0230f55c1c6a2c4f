#pragma once

#include <stdexcept>
#include <string>

namespace hoccl::hw {

/// A call to the operating system failed. One line: what was tried, on what, and the system's
/// reason.
class SystemError : public std::runtime_error {
 public:
  /// Takes the reason from errno: "map 64 MiB of shared memory: Cannot allocate memory".
  explicit SystemError(const std::string& what);
  SystemError(const std::string& what, int error_number);

  [[nodiscard]] int error_number() const { return error_number_; }

 private:
  int error_number_;
};

}  // namespace hoccl::hw
