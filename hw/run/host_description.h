#pragma once

#include <string>

#include "engine/base/units.h"

namespace hoccl::hw {

/// The machine a measurement was made on, for people.
struct HostDescription {
  std::string cpu;  ///< model
  int cores = 0;    ///< that this process may use
  int machine_cores = 0;
  std::string kernel;
};

HostDescription describe_host();
/// "2 cores", or "1 of 2 cores usable" where the affinity mask leaves some out.
std::string cores_of(const HostDescription& host);

/// What processes can still get without swapping, as the kernel estimates it.
engine::Bytes available_memory();

}  // namespace hoccl::hw
