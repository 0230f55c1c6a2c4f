#include "hw/run/scenario.h"

#include <algorithm>

#include "engine/base/config_error.h"
#include "engine/rank_share.h"
#include "engine/runnable.h"

namespace hoccl::hw {

using engine::Bytes;

engine::Pattern pattern_of(const RunScenario& scenario, Bytes size) {
  if (!scenario.plan) {
    return engine::pattern_of(scenario.traffic, size, scenario.topology.rank_count());
  }
  engine::Pattern pattern;
  pattern.name = scenario.plan->pattern;
  pattern.rank_count = scenario.plan->rank_count;
  pattern.message_size = scenario.plan->message_size;
  pattern.flows = engine::flows_of(*scenario.plan);
  return pattern;
}

namespace {

/// A link that only hands slots over carries nothing from user buffer to user buffer.
void require_wire(const RunScenario& scenario) {
  if (scenario.hardware.link != LinkKind::kLoopbackMap) return;
  const bool needs_wire =
      scenario.plan ? std::ranges::count(scenario.plan->transfers, engine::Route::kRegistered,
                                         &engine::Transfer::route) > 0
                    : scenario.compile.forwarding == engine::Forwarding::kOwnNic;
  if (!needs_wire) return;
  throw engine::ConfigError(
      "link = loopback-map: expected loopback with forwarding own-nic, because nothing moves on a "
      "map wire");
}

}  // namespace

void require_runnable(const RunScenario& scenario, const std::vector<Bytes>& sizes) {
  require_wire(scenario);
  if (scenario.plan) return;  // verified when it was loaded
  for (const Bytes size : sizes) {
    engine::require_runnable(scenario.traffic, size, scenario.topology, scenario.compile,
                             {.slot_size = scenario.compile.chunk_size,
                              .send_slots = scenario.hardware.slots,
                              .receive_slots = scenario.hardware.slots});
  }
}

Bytes memory_of_all_ranks(const RunScenario& scenario, Bytes largest) {
  const engine::Pattern pattern = pattern_of(scenario, largest);
  const int ranks = scenario.topology.rank_count();
  // A pool of send slots and one of receive slots for the place of each rank.
  Bytes total = scenario.hardware.slot_size * (2LL * scenario.hardware.slots * ranks);
  for (const engine::BufferSizes& sizes : engine::buffer_sizes_by_rank(pattern.flows, ranks)) {
    total += sizes.send + sizes.receive;
  }
  return total;
}

}  // namespace hoccl::hw
