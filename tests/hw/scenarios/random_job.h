#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/schedule/plan.h"
#include "tests/fuzz/fuzz_case.h"
#include "tests/hw/job/rank_under_test.h"

namespace hoccl::hw {

/// A rank's process dies: where a trap springs (or not at all), or after some time.
struct RandomDeath {
  engine::Rank victim;
  std::optional<engine::Seconds> after;  ///< none: by the trap in the settings
};

/// Who sends to whom.
enum class RandomPattern : std::uint8_t {
  kMessages,    ///< each from anybody to anybody
  kRing,        ///< in rounds, every rank to the next and the last to the first
  kChain,       ///< in rounds, every rank to the next
  kMulticasts,  ///< to several ranks of another node each, and messages among them
};
std::string_view to_string(RandomPattern pattern);

/// A job drawn from a seed. Every rank enqueues its messages in the order of their numbers, each on
/// the stream it names, so that the lowest unfinished message can always proceed: whatever hangs
/// is the fault of what is tested.
struct RandomJob {
  std::uint64_t seed = 0;
  JobSettings settings;
  RandomPattern pattern = RandomPattern::kMessages;
  std::vector<engine::FuzzMessage> messages;
  std::optional<RandomDeath> death;
};

RandomJob draw_job(std::uint64_t seed, bool may_die);
/// One line for a person.
std::string describe(const RandomJob& job);

/// The plan of a message: of a multicast, what all ranks run.
engine::Plan plan_of(const RandomJob& job, const engine::FuzzMessage& message);

/// Whether the rank is one of the message's targets.
bool receives(const engine::FuzzMessage& message, engine::Rank rank);

/// Whether the message needs this rank: as source, target or relay.
bool needs(const RandomJob& job, const engine::FuzzMessage& message, engine::Rank rank);

}  // namespace hoccl::hw
