// Over random machines, patterns and options: what the planner makes, the verifier passes, and no
// plan beats the bound of its pattern.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/base/config_error.h"
#include "engine/base/random.h"
#include "engine/pattern/pattern.h"
#include "engine/schedule/bounds.h"
#include "engine/schedule/compile.h"
#include "engine/schedule/plan_json.h"
#include "engine/schedule/verifier.h"
#include "tests/engine/schedule/topologies.h"

namespace hoccl::engine {
namespace {

using testing::IsEmpty;

template <class Value>
Value one_of(Random& random, const std::vector<Value>& values) {
  return values[static_cast<std::size_t>(
      random.between(0, static_cast<std::int64_t>(values.size()) - 1))];
}

/// Nodes of unequal numbers of GPUs, some without a NIC.
Topology random_topology(Random& random) {
  const auto nodes = static_cast<int>(random.between(1, 4));
  TopologyDescription description = cluster_description(nodes, 1);
  description.gpus_per_node.clear();
  description.nics.clear();
  const bool unequal = random.chance(0.5);
  const auto usual = static_cast<int>(random.between(2, 5));
  for (int node = 0; node < nodes; ++node) {
    const int gpus = unequal ? static_cast<int>(random.between(2, 6)) : usual;
    description.gpus_per_node.push_back(gpus);
    for (int gpu = 0; gpu < gpus; ++gpu) {
      if (!unequal || gpu < 2 || random.chance(0.8)) {
        description.nics.push_back({node, gpu, kNicRate});
      }
    }
  }
  if (random.chance(0.2)) description.staging = StagingKind::kHost;
  return Topology(description);
}

CompileOptions random_options(Random& random) {
  CompileOptions options;
  options.chunk_size = Bytes(std::int64_t{1} << random.between(8, 20));
  options.forwarding = one_of<Forwarding>(
      random, {Forwarding::kBalanced, Forwarding::kBalanced, Forwarding::kBalanced,
               Forwarding::kSymmetric, Forwarding::kOwnNic});
  options.order =
      one_of<Order>(random, {Order::kCritical, Order::kBvn, Order::kRotation, Order::kLocal});
  options.algorithm =
      one_of<Algorithm>(random, {Algorithm::kMulticast, Algorithm::kRing, Algorithm::kP2p});
  options.nics = static_cast<int>(random.between(1, 2));
  options.nodes_per_stage_in = static_cast<int>(random.between(1, 4));
  options.quantise = random.chance(0.3) ? 0.05 : 0.0;
  return options;
}

PatternRequest random_request(Random& random, int ranks) {
  PatternRequest request;
  for (const std::string_view name : pattern_names()) {
    request.name = name;
    if (random.chance(1.0 / 5)) break;
  }
  if (random.chance(0.3)) {
    for (int rank = 0; rank < ranks; ++rank) {
      if (rank < 2 || random.chance(0.5)) request.group.emplace_back(rank);
    }
    ranks = static_cast<int>(request.group.size());
  }
  request.source = Rank(random.between(0, ranks - 1));
  request.target = Rank((request.source.value() + random.between(1, ranks - 1)) % ranks);
  request.root = Rank(random.between(0, ranks - 1));
  request.size = Bytes(random.between(0, std::int64_t{1} << random.between(1, 24)));
  request.in_place = random.chance(0.5);
  request.matrix = one_of(random, matrix_kinds());
  request.seed = static_cast<std::uint64_t>(random.between(1, 1000));
  return request;
}

TEST(CompiledBound, HoldsForEveryPlanAndTheVerifierPassesIt) {
  int compiled = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    Random random(seed);
    const Topology topology = random_topology(random);
    const PatternRequest request = random_request(random, topology.rank_count());
    const CompileOptions options = random_options(random);
    const std::string what = fmt::format(
        "seed {}: {} of {} B on {} nodes, {} ranks, {}, {}, {}", seed, request.name,
        request.size.count(), topology.node_count(), topology.rank_count(),
        to_string(options.forwarding), to_string(options.order), to_string(options.algorithm));
    Plan plan;
    Pattern pattern;
    try {
      pattern = make_pattern(request, topology.rank_count());
      plan = compile(pattern, topology, options);
    } catch (const ConfigError&) {
      continue;  // asked for too much; whether rightly is the planner's test
    }
    ++compiled;
    const SlotSupply slots{.slot_size = plan.chunk_size, .send_slots = 1, .receive_slots = 1};
    EXPECT_THAT(find_violations(plan, &pattern, topology, slots), IsEmpty()) << what;
    EXPECT_THAT(find_violations(plan, nullptr, topology, slots), IsEmpty()) << what;
    EXPECT_EQ(plan_from_json(plan_to_json(plan), "plan"), plan) << what;
    const Rates rates = nominal_rates(topology);
    const double of_plan = plan_bound(plan, topology, rates).time.count();
    if (options.forwarding == Forwarding::kOwnNic) {
      const Bound of_pattern = own_nic_bound(pattern, topology, rates);
      EXPECT_LE(of_pattern.time.count(), of_plan * (1 + 1e-9)) << what << ", " << of_pattern.port;
      continue;
    }
    const Bound of_pattern = pattern_bound(pattern, topology, rates, 0);
    EXPECT_LE(of_pattern.time.count(), of_plan * (1 + 1e-9)) << what << ", " << of_pattern.port;
    const int rails = options.forwarding == Forwarding::kSymmetric ? 1 : 0;
    EXPECT_LE(pattern_bound(pattern, topology, rates, rails).time.count(), of_plan * (1 + 1e-9))
        << what;
    EXPECT_LE(of_pattern.time, balanced_rail_bound(pattern, topology, rates).time) << what;
  }
  EXPECT_GT(compiled, 300);
}

}  // namespace
}  // namespace hoccl::engine
