#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz_case.h"
#include "tests/hw/job/rank_under_test.h"

namespace hoccl::hw {

/// A rank's process dies: where a trap springs (or not at all), or after some time.
struct RandomDeath {
  engine::Rank victim;
  std::optional<engine::Seconds> after;  ///< none: by the trap in the settings
};

/// A job drawn from a seed. Every rank enqueues its messages in the order of their numbers, each on
/// the stream it names, so that the lowest unfinished message can always proceed: whatever hangs
/// is the fault of what is tested.
struct RandomJob {
  std::uint64_t seed = 0;
  JobSettings settings;
  std::vector<engine::FuzzMessage> messages;
  std::optional<RandomDeath> death;
};

RandomJob draw_job(std::uint64_t seed, bool may_die);
/// One line for a person.
std::string describe(const RandomJob& job);

/// Whether the message needs this rank: as source, target or relay.
bool needs(const RandomJob& job, const engine::FuzzMessage& message, engine::Rank rank);

}  // namespace hoccl::hw
