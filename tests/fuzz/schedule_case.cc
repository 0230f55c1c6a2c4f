#include "tests/fuzz/schedule_case.h"

#include <fmt/format.h>

#include <utility>

#include "tests/fuzz/refusals.h"
#include "tests/fuzz/schedule_topology.h"

namespace hoccl::engine {
namespace {

int draw(Random& random, int low, int high) { return static_cast<int>(random.between(low, high)); }

template <class Value>
Value draw_one(Random& random, std::initializer_list<Value> values) {
  return *(values.begin() + random.between(0, std::ssize(values) - 1));
}

/// Own NICs where every rank has one.
Forwarding draw_forwarding(Random& random, const Topology& topology) {
  bool own_nics = topology.wire() == WireKind::kNic;
  for (int rank = 0; rank < topology.rank_count(); ++rank) {
    own_nics = own_nics && !topology.nics_of(topology.gpu_of(Rank(rank))).empty();
  }
  if (own_nics && random.chance(0.3)) return Forwarding::kOwnNic;
  return random.chance(0.7) ? Forwarding::kBalanced : Forwarding::kSymmetric;
}

}  // namespace

Bytes draw_chunk(Random& random) {
  // Odd ones too.
  return Bytes(random.between(1, 64) * 64 - (random.chance(0.2) ? random.between(0, 63) : 0));
}

CompileOptions draw_compile_options(Random& random, Bytes chunk, const Topology& topology) {
  CompileOptions options;
  options.chunk_size = chunk;
  options.forwarding = draw_forwarding(random, topology);
  options.order = random.chance(0.5)
                      ? Order::kCritical
                      : draw_one(random, {Order::kBvn, Order::kRotation, Order::kLocal});
  options.algorithm = random.chance(0.6) ? Algorithm::kMulticast
                                         : draw_one(random, {Algorithm::kRing, Algorithm::kP2p});
  options.nics = random.chance(0.6) ? 1 : draw(random, 1, 4);
  options.rails = random.chance(0.8) ? 0 : draw(random, 1, 3);
  options.quantise = random.chance(0.7) ? 0.0 : random.uniform();
  options.nodes_per_stage_in = draw(random, 1, 1 + static_cast<int>(kMaxBranches));
  // Refused: once in a while is enough.
  const bool no_ring = options.forwarding == Forwarding::kOwnNic && random.chance(0.8);
  if (no_ring && options.algorithm == Algorithm::kRing) options.algorithm = Algorithm::kMulticast;
  return options;
}

PipelineOptions draw_pipeline_options(Random& random) {
  PipelineOptions options;
  options.streams = draw(random, 1, 4);
  options.quantum = draw(random, 1, 8);
  options.queue_pairs = draw(random, 1, 4);
  options.queue_depth = draw(random, 1, 4);
  options.nic_depth = draw(random, 1, 8);
  options.batch = draw(random, 0, 4);
  options.barrier = random.chance(0.25);
  options.overlap = random.chance(0.75);
  options.interleave = random.chance(0.75);
  options.slack_fill = random.chance(0.75);
  // No delay of the fabric comes near it: a timeout means that somebody waits for nothing.
  options.timeout = Seconds(1.0);
  return options;
}

IdealOptions draw_fabric_options(Random& random, Bytes chunk) {
  IdealOptions options;
  options.timing = Timing::kAdversarial;
  options.seed = random.next();
  options.slot_size = chunk + Bytes(random.chance(0.5) ? 0 : random.between(1, 100));
  options.send_slots = random.chance(0.4) ? draw(random, 1, 2) : draw(random, 1, 16);
  options.receive_slots = random.chance(0.4) ? draw(random, 1, 2) : draw(random, 1, 16);
  options.time_limit = Seconds(20.0);
  // Some thousands are enough.
  options.step_limit = 300'000;
  return options;
}

ScheduleCase draw_schedule_case(std::uint64_t seed) {
  Random random(seed);
  Topology topology = draw_small_cluster(random);
  const Bytes chunk = draw_chunk(random);
  DrawnPattern drawn = draw_pattern(random, topology.rank_count(), chunk);
  ScheduleCase result{std::move(topology), std::move(drawn.pattern), std::move(drawn.counted)};
  result.compile = draw_compile_options(random, chunk, result.topology);
  result.pipeline = draw_pipeline_options(random);
  result.fabric = draw_fabric_options(random, chunk);
  result.fabric.queue_depth = result.pipeline.queue_depth;
  result.node_plans = random.chance(0.5);
  draw_refusals(seed, result.topology, result.fabric.faults);
  return result;
}

std::string describe(const ScheduleCase& schedule_case) {
  const Topology& topology = schedule_case.topology;
  std::string nodes;
  for (int i = 0; i < topology.node_count(); ++i) {
    const NodeId node(i);
    nodes +=
        fmt::format("{}{} GPUs {} NICs {} ranks", i == 0 ? "" : ", ", topology.gpus_of(node).size(),
                    topology.nics_of(node).size(), topology.ranks_of(node).size());
  }
  const CompileOptions& compile = schedule_case.compile;
  const PipelineOptions& pipeline = schedule_case.pipeline;
  return fmt::format(
      "{} ({}) staged in {}, {} of {} in {} flows, chunk {}, forwarding {}, order {}, algorithm "
      "{}, "
      "nics {}, rails {}, quantise {}, nodes per stage-in {}, {}+{} slots, {} lanes, quantum {}, "
      "{} "
      "queue pairs, {} writes per NIC, batch {}{}{}{}{}{}{}",
      topology.name(), nodes, to_string(topology.staging()), schedule_case.pattern.name,
      to_string(schedule_case.pattern.message_size), schedule_case.pattern.flows.size(),
      to_string(compile.chunk_size), to_string(compile.forwarding), to_string(compile.order),
      to_string(compile.algorithm), compile.nics, compile.rails, compile.quantise,
      compile.nodes_per_stage_in, schedule_case.fabric.send_slots,
      schedule_case.fabric.receive_slots, pipeline.streams, pipeline.quantum, pipeline.queue_pairs,
      pipeline.nic_depth, pipeline.batch, pipeline.barrier ? ", barrier" : "",
      pipeline.overlap ? "" : ", no overlap", pipeline.interleave ? "" : ", one after the other",
      pipeline.slack_fill ? "" : ", no slack fill", schedule_case.node_plans ? ", node plans" : "",
      refuses(schedule_case.fabric.faults) ? ", buffers refused" : "");
}

}  // namespace hoccl::engine
