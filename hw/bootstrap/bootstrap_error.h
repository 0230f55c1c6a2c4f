#pragma once

#include <stdexcept>

namespace hoccl::hw {

/// The processes of the job did not come together, or lost one. One line naming the rank.
class BootstrapError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace hoccl::hw
