#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/hw/verbs/fault_job.h"

namespace hoccl::hw {

/// Something that goes wrong, some time after the messages were enqueued.
struct Fault {
  enum class Kind : std::uint8_t {
    kLoss,       ///< of packets that an interface sends, for some time
    kQueuePair,  ///< one of a rank's is in error
    kDeath,      ///< of a rank's process
  };
  Kind kind = Kind::kLoss;
  engine::Seconds at;
  std::string interface;  ///< kLoss
  double percent = 0.0;   ///< kLoss
  engine::Seconds lasts;  ///< kLoss
  engine::Rank rank;      ///< kQueuePair, kDeath
  std::uint64_t index = 0;
};

/// A job and what goes wrong in it, drawn from a seed.
struct FaultSchedule {
  std::uint64_t seed = 0;
  int ranks = 2;
  Rails rails = Rails::kOne;
  engine::Bytes chunk;
  std::vector<engine::Bytes> messages;  ///< one round each, between all pairs across the nodes
  std::vector<Fault> faults;  ///< in order of time; losses of one interface do not overlap
};

FaultSchedule draw_schedule(std::uint64_t seed);
/// One line for a person.
std::string describe(const FaultSchedule& schedule);
/// Nobody dies, and between any two nodes some path always works.
bool leaves_a_path(const FaultSchedule& schedule);

/// What is wrong; empty: every message came right, or failed where it may, with a reason and in
/// time, and afterwards messages come again.
std::string play(const FaultSchedule& schedule);

}  // namespace hoccl::hw
