#pragma once

#include <stdexcept>
#include <string>

namespace hoccl::hw {

/// A call to the RDMA device failed. One line: what was tried, on which device, the system's reason
/// and, where the cause is usually the same, what to do about it.
class VerbsError : public std::runtime_error {
 public:
  VerbsError(const std::string& what, int error_number);

  [[nodiscard]] int error_number() const { return error_number_; }

 private:
  int error_number_;
};

}  // namespace hoccl::hw
