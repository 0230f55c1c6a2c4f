#pragma once

#include <stdexcept>
#include <string>

namespace hoccl::hw {

/// A call to CUDA failed. One line: what was tried, and CUDA's name and reason of the error.
class CudaError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace hoccl::hw
