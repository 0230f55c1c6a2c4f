#pragma once

#include <stdexcept>

namespace hoccl::hw {

/// The machine did not do what a measurement needs, or its times make no sense. One line.
class CalibrationFailed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace hoccl::hw
