#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/units.h"

namespace hoccl::hw {

enum class Finding : std::uint8_t {
  kOk,
  kInfo,     ///< something this machine lacks that host×loopback does not need
  kWarning,  ///< works, but slowly
  kProblem,  ///< `hoccl run` will fail; of what RDMA needs: with --link verbs
};

/// One thing that was looked at.
struct Check {
  std::string subject;
  Finding finding = Finding::kOk;
  std::string found;
  std::string advice;  ///< empty when there is nothing to do
};

/// What a job on this machine would need.
struct Demand {
  int ranks = 0;
  engine::Bytes slot_memory;  ///< of all staging places
};

/// Tries everything that host×loopback needs, and looks for what other backends would. Leaves
/// nothing behind.
std::vector<Check> check_machine(const Demand& demand);

}  // namespace hoccl::hw
