// The bound of what goes through no slots, against closed forms and against plans.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "engine/base/config_error.h"
#include "engine/base/random.h"
#include "engine/pattern/pattern.h"
#include "engine/pattern/sendrecv.h"
#include "engine/schedule/bounds.h"
#include "engine/schedule/compile.h"
#include "tests/engine/schedule/topologies.h"

namespace hoccl::engine {
namespace {

using namespace literals;

// Relative difference allowed between two ways to compute the same quotient.
constexpr double kRounding = 1e-9;

void expect_bound(const Bound& bound, Seconds time, const std::string& port) {
  EXPECT_NEAR(bound.time.count(), time.count(), time.count() * kRounding);
  EXPECT_EQ(bound.port, port);
}

Bound bound_on(const Topology& topology, const Pattern& pattern) {
  return own_nic_bound(pattern, topology, nominal_rates(topology));
}

Bound planned_on(const Topology& topology, const Pattern& pattern, int rails = 0) {
  const CompileOptions options{
      .chunk_size = 1_MiB, .rails = rails, .forwarding = Forwarding::kOwnNic};
  return plan_bound(compile(pattern, topology, options), topology, nominal_rates(topology));
}

TEST(OwnNicBound, IsAttainedByMessagesAndByAnAllToAll) {
  const Topology topology = cluster(2, 8);
  const Pattern message = send_recv(16, Rank(3), Rank(9), 64_MiB);
  expect_bound(bound_on(topology, message), 64_MiB / kNicRate, "NIC 3, sending");
  expect_bound(planned_on(topology, message), 64_MiB / kNicRate, "NIC 3, sending");
  // 8 of 16 blocks leave the node; staged plans take as many NICs, but NVLink twice.
  const Pattern all = make_pattern({.name = "alltoall", .size = 64_MiB, .in_place = true}, 16);
  expect_bound(bound_on(topology, all), 32_MiB / kNicRate, "NIC 0, sending");
  expect_bound(planned_on(topology, all), 32_MiB / kNicRate, "NIC 0, sending");
}

TEST(OwnNicBound, CanBeBelowThatOfPlansThroughSlots) {
  // What crosses the network crosses NVLink too when it is staged in a peer.
  TopologyDescription description = cluster_description(2, 4);
  description.nvlink = {30_GBps, 30_GBps};
  const Topology topology(description);
  const Pattern message = send_recv(8, Rank(0), Rank(4), 64_MiB);
  const Rates rates = nominal_rates(topology);
  expect_bound(bound_on(topology, message), 64_MiB / kNicRate, "NIC 0, sending");
  EXPECT_GT(pattern_bound(message, topology, rates, 0).time, bound_on(topology, message).time);
}

TEST(OwnNicBound, CountsAllNicsNextToAGpu) {
  const Topology topology = cluster(2, 8, 2);
  const Pattern message = send_recv(16, Rank(1), Rank(8), 1_GiB);
  expect_bound(bound_on(topology, message), 1_GiB / (kNicRate * 2.0), "NICs of GPU 1, sending");
  EXPECT_NEAR(planned_on(topology, message).time.count(), (1_GiB / (kNicRate * 2.0)).count(), 1e-9);
  expect_bound(planned_on(topology, message, 1), 1_GiB / kNicRate, "NIC 3, sending");
  // The ring crosses nodes from 7 to 8 and from 15 to 0; of four equal ones GPU 0 comes first.
  expect_bound(bound_on(topology, send_recv_ring(16, 1_GiB)), 1_GiB / (kNicRate * 2.0),
               "NICs of GPU 0, receiving");
}

TEST(OwnNicBound, AGpuWithoutANicUsesTheFirstOfItsNode) {
  // Kernels may; GPU 0 then shares its NICs with it.
  TopologyDescription description = cluster_description(2, 2, 2);
  std::erase_if(description.nics, [](const NicDescription& nic) { return nic.gpu == 1; });
  const Topology topology(description);
  Pattern both = send_recv(4, Rank(0), Rank(2), 1_GiB);
  expect_bound(bound_on(topology, both), 1_GiB / (kNicRate * 2.0), "NICs of GPU 0, sending");
  const Pattern bare = send_recv(4, Rank(1), Rank(3), 2_GiB);
  expect_bound(bound_on(topology, bare), 2_GiB / kNicRate, "NIC 0, sending");
  both.flows.push_back(bare.flows.front());
  both.flows.back().size = 1_GiB;
  expect_bound(bound_on(topology, both), 1_GiB / kNicRate, "NIC 0, sending");
  both.flows.front().size = 2_GiB;
  expect_bound(bound_on(topology, both), 3_GiB / (kNicRate * 2.0), "NICs of GPU 0, sending");
}

TEST(OwnNicBound, CountsPciePortsAndSwitchesThatEveryChoiceOfNicsCrosses) {
  TopologyDescription description = cluster_description(4, 2, 2);
  description.wire_shares_pcie = true;
  description.pcie = {60_GBps, 60_GBps};
  const Pattern far = send_recv(8, Rank(0), Rank(4), 1_GiB);
  // Two NICs of 50 GB/s behind a port of 60 GB/s.
  expect_bound(bound_on(Topology(description), far), 1_GiB / 60_GBps, "PCIe out of GPU 0");
  description.wire_shares_pcie = false;
  description.switch_tiers.push_back(
      {.name = "leaf", .nodes_per_switch = 2, .oversubscription = 8.0, .rail_aligned = false});
  // 8 NICs below a leaf, so 50 GB/s above it; a neighbour below the same one is nearer.
  expect_bound(bound_on(Topology(description), far), 1_GiB / kNicRate, "leaf switch 0, upwards");
  expect_bound(bound_on(Topology(description), send_recv(8, Rank(0), Rank(2), 1_GiB)),
               1_GiB / (kNicRate * 2.0), "NICs of GPU 0, sending");
  // Below different switches, neither is certain.
  description.switch_tiers.front().rail_aligned = true;
  expect_bound(bound_on(Topology(description), far), 1_GiB / (kNicRate * 2.0),
               "NICs of GPU 0, sending");
}

TEST(OwnNicBound, LetsWhoeverHasBytesPassThemOnThroughAllPortsOfAGpu) {
  const Topology topology = cluster(2, 8);
  const Pattern pattern = make_pattern({.name = "allgather", .size = 1_GiB}, 16);
  const double expected = (960_MiB / (kNvlinkRate + kNicRate)).count();
  EXPECT_NEAR(bound_on(topology, pattern).time.count(), expected, expected * kRounding);
}

/// Nodes of unlike GPUs with 1 to 3 NICs each, sometimes below switches.
Topology random_topology(Random& random) {
  TopologyDescription description = cluster_description(static_cast<int>(random.between(2, 4)), 1);
  description.gpus_per_node.clear();
  description.nics.clear();
  for (int node = 0; node < static_cast<int>(random.between(2, 4)); ++node) {
    const auto gpus = static_cast<int>(random.between(2, 4));
    description.gpus_per_node.push_back(gpus);
    for (int gpu = 0; gpu < gpus; ++gpu) {
      for (auto nics = random.between(1, 3); nics > 0; --nics) {
        description.nics.push_back({node, gpu, BytesPerSecond(random.chance(0.5) ? 50e9 : 25e9)});
      }
    }
  }
  if (description.gpus_per_node.size() < 2) {
    description.gpus_per_node.push_back(1);
    description.nics.push_back({1, 0, kNicRate});
  }
  description.wire_shares_pcie = random.chance(0.3);
  if (random.chance(0.2)) description.staging = StagingKind::kHost;
  if (random.chance(0.4)) {
    description.switch_tiers.push_back({.name = "leaf",
                                        .nodes_per_switch = static_cast<int>(random.between(1, 2)),
                                        .oversubscription = 4.0,
                                        .rail_aligned = random.chance(0.5)});
  }
  return Topology(description);
}

/// Any flows, into room of their own at every target.
Pattern random_pattern(Random& random, int ranks) {
  Pattern pattern;
  pattern.name = "drawn";
  pattern.rank_count = ranks;
  const bool multicasts = random.chance(0.4);
  Bytes room(0);
  for (auto left = random.between(1, 12); left > 0; --left) {
    Flow flow;
    flow.source = Rank(random.between(0, ranks - 1));
    flow.target = Rank((flow.source.value() + random.between(1, ranks - 1)) % ranks);
    flow.target_offset = room;
    flow.size = Bytes(random.between(1, 8 << 20));
    room += flow.size;
    for (Rank next(flow.target.value() + 1); multicasts && next.value() < ranks;
         next = Rank(next.value() + 1)) {
      if (next != flow.source && random.chance(0.4)) flow.more_targets.push_back(next);
    }
    pattern.flows.push_back(flow);
    pattern.message_size = std::max(pattern.message_size, flow.size);
  }
  return pattern;
}

TEST(OwnNicBound, NoPlanBeatsIt) {
  int compiled = 0;
  int attained = 0;
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    Random random(seed);
    const Topology topology = random_topology(random);
    const Pattern pattern = random_pattern(random, topology.rank_count());
    CompileOptions options{
        .chunk_size = Bytes(random.between(1, 64)) * (1 << 14),
        .rails = random.chance(0.7) ? 0 : static_cast<int>(random.between(1, 2)),
        .forwarding = Forwarding::kOwnNic,
        .algorithm = random.chance(0.7) ? Algorithm::kMulticast : Algorithm::kP2p};
    Plan plan;
    try {
      plan = compile(pattern, topology, options);
    } catch (const ConfigError&) {
      continue;  // asked for more rails than there are
    }
    ++compiled;
    Rates rates = nominal_rates(topology);
    if (random.chance(0.5)) {
      rates.nic = BytesPerSecond(40e9);
      rates.nvlink = BytesPerSecond(90e9);
      rates.copy_engine = BytesPerSecond(80e9);
    }
    const double of_plan = plan_bound(plan, topology, rates).time.count();
    const Bound bound = own_nic_bound(pattern, topology, rates);
    EXPECT_LE(bound.time.count(), of_plan * (1 + kRounding))
        << "seed " << seed << ", " << bound.port;
    attained += bound.time.count() >= of_plan * (1 - kRounding) ? 1 : 0;
  }
  EXPECT_GT(compiled, 400);
  EXPECT_GT(attained, 20);
}

}  // namespace
}  // namespace hoccl::engine
