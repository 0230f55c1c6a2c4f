#pragma once

#include <string>

namespace hoccl::hw {

/// The machine a measurement was made on, for people.
struct HostDescription {
  std::string cpu;  ///< model
  int cores = 0;    ///< that this process may use
  std::string kernel;
};

HostDescription describe_host();

}  // namespace hoccl::hw
