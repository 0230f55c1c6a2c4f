#include "hw/run/scenario.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/config_error.h"
#include "engine/rank_share.h"
#include "engine/runnable.h"
#include "engine/schedule/compile.h"
#include "hw/copy/copy_channel.h"

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

engine::Plan plan_of(const RunScenario& scenario, Bytes size) {
  if (scenario.plan) return *scenario.plan;
  return engine::compile(pattern_of(scenario, size), scenario.topology, scenario.compile);
}

namespace {

/// A slot that changes its owner cannot go to a second node.
void require_single_use(const RunScenario& scenario, const engine::Plan& plan) {
  const bool branches = std::ranges::any_of(
      plan.transfers, [](const engine::Transfer& transfer) { return !transfer.branches.empty(); });
  if (!branches) return;
  throw engine::ConfigError(
      fmt::format("nodes_per_stage_in = {} on link loopback-map: expected 1, because a slot that "
                  "is handed over "
                  "cannot go to a second node",
                  scenario.compile.nodes_per_stage_in));
}

/// A link that only hands slots over carries nothing from user buffer to user buffer, and the
/// thread that plays a NIC reaches none on a GPU.
void require_wire(const RunScenario& scenario) {
  if (scenario.hardware.link == LinkKind::kVerbs) return;
  const bool on_gpu = scenario.hardware.copy == CopyKind::kCuda;
  if (scenario.hardware.link != LinkKind::kLoopbackMap && !on_gpu) return;
  const bool needs_wire =
      scenario.plan ? std::ranges::count(scenario.plan->transfers, engine::Route::kRegistered,
                                         &engine::Transfer::route) > 0
                    : scenario.compile.forwarding == engine::Forwarding::kOwnNic;
  if (!needs_wire) return;
  if (on_gpu) {
    throw engine::ConfigError(
        "copy = cuda: expected host with forwarding own-nic, because no NIC here reaches a GPU's "
        "user buffers");
  }
  throw engine::ConfigError(
      "link = loopback-map: expected loopback with forwarding own-nic, because nothing moves on a "
      "map wire");
}

/// Deliveries out of the host's memory run on SMs when they are short, and the last chunk of a
/// transfer is as short as what is left.
void require_copy_engines(const engine::Plan& plan, Bytes size) {
  for (const engine::Transfer& transfer : plan.transfers) {
    if (transfer.size == Bytes(0)) continue;
    const Bytes rest = transfer.size % plan.chunk_size;
    const Bytes shortest = rest == Bytes(0) ? plan.chunk_size : rest;
    if (runs_on_copy_engine(engine::CopyClass::kHostToDevice, shortest)) continue;
    throw engine::ConfigError(fmt::format(
        "size = '{}': leaves a chunk of {} bytes from rank {} to rank {}, which the driver would "
        "deliver on SMs; strict mode expects chunks of {} or more",
        engine::to_string(size), shortest.count(), transfer.source, transfer.target,
        engine::to_string(kSmallestDmaCopy)));
  }
}

}  // namespace

void require_runnable(const RunScenario& scenario, const std::vector<Bytes>& sizes) {
  require_wire(scenario);
  if (!scenario.plan) {  // verified when it was loaded
    for (const Bytes size : sizes) {
      engine::require_runnable(scenario.traffic, size, scenario.topology, scenario.compile,
                               {.slot_size = scenario.compile.chunk_size,
                                .send_slots = scenario.hardware.slots,
                                .receive_slots = scenario.hardware.slots});
    }
  }
  const bool hands_over = scenario.hardware.link == LinkKind::kLoopbackMap;
  const bool only_engines =
      scenario.hardware.strict && scenario.topology.staging() == engine::StagingKind::kHost;
  if (!hands_over && !only_engines) return;
  for (const Bytes size : sizes) {
    const engine::Plan plan = plan_of(scenario, size);
    if (hands_over) require_single_use(scenario, plan);
    if (only_engines) require_copy_engines(plan, size);
  }
}

Bytes memory_of_all_ranks(const RunScenario& scenario, Bytes largest) {
  const engine::Pattern pattern = pattern_of(scenario, largest);
  const int ranks = scenario.topology.rank_count();
  // A pool of send slots and one of receive slots for the place of each rank.
  Bytes total = scenario.hardware.slot_size * (2LL * scenario.hardware.slots * ranks);
  // User buffers are a GPU's; the host has a copy of what is checked.
  if (scenario.hardware.copy == CopyKind::kCuda && !scenario.check) return total;
  for (const engine::BufferSizes& sizes : engine::buffer_sizes_by_rank(pattern.flows, ranks)) {
    total += sizes.send + sizes.receive;
  }
  return total;
}

}  // namespace hoccl::hw
