#include "tests/fuzz/fuzz_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/base/random.h"
#include "tests/fuzz/refusals.h"
#include "tests/support/multicast_plan.h"

namespace hoccl::engine {
namespace {

/// Chunks of all messages of a case: keeps a seed at a few milliseconds.
constexpr std::int64_t kMaxChunks = 400;

int draw(Random& random, int low, int high) { return static_cast<int>(random.between(low, high)); }

/// Few nodes and GPUs, sometimes fewer ranks than GPUs, sometimes one GPU for all ranks.
Topology draw_topology(Random& random) {
  if (random.chance(0.15)) {
    return resolve_topology("h200-1x1").with_ranks(draw(random, 2, 4));
  }
  const int nodes = draw(random, 1, 3);
  const int gpus = draw(random, 2, 4);
  const Topology full = resolve_topology(fmt::format("h800-{}x{}", nodes, gpus));
  const int fewest = std::max(2, nodes);
  return random.chance(0.3) ? full.with_ranks(draw(random, fewest, nodes * gpus)) : full;
}

Bytes draw_size(Random& random, Bytes chunk) {
  const double kind = random.uniform();
  if (kind < 0.05) return Bytes(0);
  if (kind < 0.15) return Bytes(random.between(1, 16));
  if (kind < 0.3) return chunk * random.between(1, 8);
  return Bytes(random.between(1, chunk.count() * 40));
}

std::vector<Rank> draw_further_targets(Random& random, const FuzzMessage& message,
                                       const FuzzCase& fuzz_case) {
  if (message.size == Bytes(0) || !random.chance(0.3)) return {};
  // Out of one slot: registered transfers have one target each.
  if (fuzz_case.compile.forwarding == Forwarding::kOwnNic) return {};
  std::vector<Rank> targets = possible_further_targets(
      fuzz_case.topology, message.source, message.target, message.size, fuzz_case.compile);
  std::erase_if(targets, [&](Rank) { return random.chance(0.3); });
  return targets;
}

FuzzMessage draw_message(Random& random, const FuzzCase& fuzz_case) {
  const int ranks = fuzz_case.topology.rank_count();
  FuzzMessage message;
  message.source = Rank(draw(random, 0, ranks - 1));
  message.target = Rank((message.source.value() + draw(random, 1, ranks - 1)) % ranks);
  message.source_stream = StreamId(draw(random, 0, fuzz_case.streams - 1));
  message.target_stream = StreamId(draw(random, 0, fuzz_case.streams - 1));
  message.size = draw_size(random, fuzz_case.compile.chunk_size);
  message.more_targets = draw_further_targets(random, message, fuzz_case);
  message.joins_at_source = random.chance(0.2);
  message.joins_at_target = random.chance(0.2);
  return message;
}

}  // namespace

FuzzCase draw_case(std::uint64_t seed) {
  Random random(seed);
  FuzzCase result{draw_topology(random), {}, {}, {}, 1, true, {}};
  const Bytes chunk(random.between(1, 40) * 64);
  result.compile.chunk_size = chunk;
  const Topology& topology = result.topology;
  const int nodes = topology.node_count();
  const int nics = topology.nic_count() / std::max(nodes, 1);
  if (topology.wire() == WireKind::kNic && random.chance(0.25)) {
    result.compile.forwarding = Forwarding::kOwnNic;
    result.compile.rails = 1;
  } else {
    // A GPU's own NIC cannot carry its messages, except from host memory.
    result.compile.rails = topology.shared_device() ? 1 : draw(random, 1, std::max(1, nics - 1));
  }

  IdealOptions& fabric = result.fabric;
  fabric.timing = Timing::kAdversarial;
  fabric.seed = random.next();
  fabric.slot_size = chunk + Bytes(random.chance(0.5) ? 0 : random.between(1, 100));
  fabric.send_slots = draw(random, 1, 8);
  fabric.receive_slots = draw(random, 1, 8);

  PipelineOptions& pipeline = result.pipeline;
  pipeline.streams = draw(random, 1, 4);
  pipeline.quantum = draw(random, 1, 8);
  pipeline.queue_pairs = draw(random, 1, 4);
  pipeline.queue_depth = draw(random, 1, 4);
  pipeline.nic_depth = draw(random, 1, 8);
  pipeline.batch = draw(random, 0, 4);
  fabric.queue_depth = pipeline.queue_depth;
  // No delay of the fabric comes near these: a timeout means that somebody waits for nothing.
  pipeline.timeout = Seconds(1.0);
  fabric.time_limit = Seconds(20.0);

  result.streams = draw(random, 1, 4);
  std::int64_t chunks = 0;
  for (int left = draw(random, 1, 30); left > 0 && chunks < kMaxChunks; --left) {
    result.messages.push_back(draw_message(random, result));
    chunks += chunk_count(result.messages.back().size, chunk);
  }
  draw_refusals(seed, topology, fabric.faults);
  return result;
}

Plan plan_of(const FuzzMessage& message, const FuzzCase& fuzz_case) {
  std::vector<Rank> targets = {message.target};
  targets.insert(targets.end(), message.more_targets.begin(), message.more_targets.end());
  return multicast_plan(fuzz_case.topology, message.source, std::move(targets), message.size,
                        fuzz_case.compile);
}

std::string describe(const FuzzCase& fuzz_case) {
  const PipelineOptions& pipeline = fuzz_case.pipeline;
  return fmt::format(
      "{} with {} ranks, {} messages on {} streams, chunk {}, forwarding {}, {} rails, {}+{} "
      "slots, {} lanes, "
      "quantum {}, {} queue pairs of depth {}, {} writes per NIC, batch {}{}",
      fuzz_case.topology.name(), fuzz_case.topology.rank_count(), fuzz_case.messages.size(),
      fuzz_case.streams, to_string(fuzz_case.compile.chunk_size),
      to_string(fuzz_case.compile.forwarding), fuzz_case.compile.rails, fuzz_case.fabric.send_slots,
      fuzz_case.fabric.receive_slots, pipeline.streams, pipeline.quantum, pipeline.queue_pairs,
      pipeline.queue_depth, pipeline.nic_depth, pipeline.batch,
      refuses(fuzz_case.fabric.faults) ? ", buffers refused" : "");
}

}  // namespace hoccl::engine
