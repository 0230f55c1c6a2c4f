#include "engine/schedule/bounds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <vector>

#include "engine/pattern/sendrecv.h"
#include "engine/schedule/compile.h"
#include "tests/engine/schedule/topologies.h"

namespace hoccl::engine {
namespace {

using namespace literals;

// Relative difference allowed between two ways to compute the same quotient.
constexpr double kRounding = 1e-12;

void expect_bound(const Bound& bound, Seconds time, const std::string& port) {
  EXPECT_NEAR(bound.time.count(), time.count(), time.count() * kRounding);
  EXPECT_EQ(bound.port, port);
}

Plan plan_of(const Pattern& pattern, const Topology& topology, int rails) {
  return compile(pattern, topology,
                 {.chunk_size = 1_MiB, .rails = rails, .forwarding = Forwarding::kSymmetric});
}

TEST(Bounds, NominalRatesAreThoseOfTheTopologyAndCopyEnginesAreUnlimited) {
  const Rates rates = nominal_rates(cluster(2, 8));
  EXPECT_EQ(rates.nvlink, kNvlinkRate);
  EXPECT_EQ(rates.nic, kNicRate);
  EXPECT_EQ(rates.pcie_one_way, 60_GBps);
  EXPECT_EQ(rates.pcie_both_ways, 45_GBps);
  EXPECT_EQ(rates.copy_engine.value(), std::numeric_limits<double>::infinity());
}

TEST(Bounds, InsideANodeNvlinkBinds) {
  const Topology topology = cluster(2, 8);
  const Pattern pattern = send_recv(16, Rank(2), Rank(5), 1_GiB);
  const Rates rates = nominal_rates(topology);
  const Seconds expected = 1_GiB / kNvlinkRate;
  expect_bound(plan_bound(plan_of(pattern, topology, 1), topology, rates), expected,
               "NVLink out of GPU 2");
  expect_bound(pattern_bound(pattern, topology, rates, 1), expected, "NVLink out of GPU 2");
  expect_bound(own_nic_bound(pattern, topology, rates), expected, "NVLink out of GPU 2");
}

TEST(Bounds, BetweenNodesItIsTheRailsUntilNvlinkBinds) {
  const Topology topology = cluster(2, 8);
  const Pattern pattern = send_recv(16, Rank(0), Rank(8), 840_MiB);  // divides by 1 to 7 rails
  const Rates rates = nominal_rates(topology);
  for (int rails = 1; rails <= 7; ++rails) {
    const BytesPerSecond together = std::min(kNicRate * rails, kNvlinkRate);
    const Seconds expected = 840_MiB / together;
    const Bound of_plan = plan_bound(plan_of(pattern, topology, rails), topology, rates);
    const Bound of_pattern = pattern_bound(pattern, topology, rates, rails);
    EXPECT_NEAR(of_plan.time.count(), expected.count(), expected.count() * kRounding);
    EXPECT_NEAR(of_pattern.time.count(), expected.count(), expected.count() * kRounding);
    // 4 rails of 50 GB/s equal NVLink; of equal ports the first in order is named.
    EXPECT_EQ(of_plan.port, rails < 4 ? "NIC 1, sending" : "NVLink out of GPU 0");
  }
}

TEST(Bounds, MoreRailsThanTheTopologyHasCountAsAll) {
  const Topology topology = cluster(2, 3);
  const Pattern pattern = send_recv(6, Rank(0), Rank(3), 1_GiB);
  const Rates rates = nominal_rates(topology);
  expect_bound(pattern_bound(pattern, topology, rates, 100), 1_GiB / (kNicRate * 2.0),
               "2 NIC pair(s) from rank 0 to rank 3");
}

/// Shortest time over all ways to deal `chunks` chunks of `chunk` to `rails` rails.
Seconds best_split(std::int64_t chunks, Bytes chunk, Bytes size, int rails) {
  Seconds best(std::numeric_limits<double>::infinity());
  std::vector<std::int64_t> share(static_cast<std::size_t>(rails), 0);
  const std::function<void(std::size_t, std::int64_t)> deal = [&](std::size_t rail,
                                                                  std::int64_t left) {
    if (rail + 1 == share.size()) {
      share[rail] = left;
      // The short chunk is the last one, so any one rail that has a chunk may be its rail.
      for (std::size_t with_last = 0; with_last < share.size(); ++with_last) {
        if (share[with_last] == 0) continue;
        Seconds time = size / kNvlinkRate;
        for (std::size_t i = 0; i < share.size(); ++i) {
          const Bytes missing = i == with_last ? chunks * chunk - size : Bytes(0);
          time = std::max(time, (share[i] * chunk - missing) / kNicRate);
        }
        best = std::min(best, time);
      }
      return;
    }
    for (std::int64_t take = 0; take <= left; ++take) {
      share[rail] = take;
      deal(rail + 1, left - take);
    }
  };
  deal(0, chunks);
  return best;
}

TEST(Bounds, NoSplitOfWholeChunksBeatsThePatternBoundAndNoneThePlans) {
  const Topology topology = cluster(2, 8);
  const Rates rates = nominal_rates(topology);
  for (int rails = 1; rails <= 5; ++rails) {
    for (std::int64_t chunks = 1; chunks <= 9; ++chunks) {
      for (const Bytes missing : {0_B, 1_KiB, 1_MiB - 1_B}) {
        const Bytes size = chunks * 1_MiB - missing;
        const Pattern pattern = send_recv(16, Rank(0), Rank(8), size);
        const Seconds brute = best_split(chunks, 1_MiB, size, rails);
        const Bound of_plan = plan_bound(plan_of(pattern, topology, rails), topology, rates);
        const Bound of_pattern = pattern_bound(pattern, topology, rates, rails);
        EXPECT_NEAR(of_plan.time.count(), brute.count(), brute.count() * kRounding)
            << rails << " rails, " << chunks << " chunks, " << missing.count() << " missing";
        EXPECT_LE(of_pattern.time.count(), brute.count() * (1.0 + kRounding));
        if (missing == 0_B && chunks % rails == 0) {
          EXPECT_NEAR(of_pattern.time.count(), brute.count(), brute.count() * kRounding);
        }
      }
    }
  }
}

TEST(Bounds, CalibratedRatesLowerThanTheTopologysCount) {
  const Topology topology = cluster(2, 8);
  Rates rates = nominal_rates(topology);
  rates.nic = BytesPerSecond(48.8e9);
  rates.nvlink = BytesPerSecond(192.2e9);
  const Pattern pattern = send_recv(16, Rank(0), Rank(8), 64_MiB);
  expect_bound(plan_bound(plan_of(pattern, topology, 1), topology, rates), 64_MiB / rates.nic,
               "NIC 1, sending");
  expect_bound(plan_bound(plan_of(pattern, topology, 4), topology, rates), 64_MiB / rates.nvlink,
               "NVLink out of GPU 0");
  // Rates above the hardware's do not count.
  rates.nic = BytesPerSecond(70e9);
  expect_bound(plan_bound(plan_of(pattern, topology, 1), topology, rates), 64_MiB / kNicRate,
               "NIC 1, sending");
}

TEST(Bounds, ACopyEngineBindsByWhatItsGpuExecutes) {
  const Topology topology = cluster(2, 2);
  Rates rates = nominal_rates(topology);
  rates.copy_engine = BytesPerSecond(40e9);
  const Pattern pattern = send_recv(4, Rank(0), Rank(2), 64_MiB);
  const Plan plan = plan_of(pattern, topology, 1);
  const PortLoads loads = loads_of(plan, topology);
  const auto peer = static_cast<std::size_t>(CopyClass::kPeer);
  // The source pushes, the target pulls; the GPUs of the slots execute nothing.
  EXPECT_EQ(loads.copied[0][peer], 64_MiB);
  EXPECT_EQ(loads.copied[1][peer], 0_B);
  EXPECT_EQ(loads.copied[2][peer], 64_MiB);
  EXPECT_EQ(loads.copied[3][peer], 0_B);
  expect_bound(plan_bound(plan, topology, rates), 64_MiB / rates.copy_engine,
               "peer copy engine of GPU 0");
  expect_bound(pattern_bound(pattern, topology, rates, 1), 64_MiB / rates.copy_engine,
               "peer copy engine of GPU 0");
  // A ring over both nodes makes every GPU push once and ranks 0 and 2 pull once more.
  const Pattern ring = send_recv_ring(4, 64_MiB);
  expect_bound(plan_bound(plan_of(ring, topology, 1), topology, rates), 128_MiB / rates.copy_engine,
               "peer copy engine of GPU 0");
}

TEST(Bounds, StagedTransferLoadsEveryPortOfItsPathOnce) {
  const Topology topology = cluster(2, 2);
  const PortLoads loads =
      loads_of(plan_of(send_recv(4, Rank(0), Rank(2), 3_MiB), topology, 1), topology);
  EXPECT_EQ(loads.nvlink_out, (std::vector<Bytes>{3_MiB, 0_B, 0_B, 3_MiB}));
  EXPECT_EQ(loads.nvlink_in, (std::vector<Bytes>{0_B, 3_MiB, 3_MiB, 0_B}));
  EXPECT_EQ(loads.nic_out, (std::vector<Bytes>{0_B, 3_MiB, 0_B, 0_B}));
  EXPECT_EQ(loads.nic_in, (std::vector<Bytes>{0_B, 0_B, 0_B, 3_MiB}));
  EXPECT_EQ(loads.pcie_out, std::vector<Bytes>(4, 0_B));
}

TEST(Bounds, OneDeviceWithSeveralRanksIsBoundByItsPciePortBothWays) {
  const Topology topology = preset_topology("h200-1x1");
  const Rates rates = nominal_rates(topology);
  const Pattern pattern = send_recv(2, Rank(0), Rank(1), 1_GiB);
  // Every byte leaves the device and enters it again: 2 GiB over twice the rate of each direction.
  expect_bound(plan_bound(plan_of(pattern, topology, 1), topology, rates),
               1_GiB / rates.pcie_both_ways, "PCIe of GPU 0, both ways");
  expect_bound(pattern_bound(pattern, topology, rates, 1), 1_GiB / rates.pcie_both_ways,
               "PCIe of GPU 0, both ways");
}

TEST(Bounds, HostStagingBetweenDevicesIsBoundByOneDirectionOfPcie) {
  TopologyDescription description = cluster_description(2, 1);
  description.staging = StagingKind::kHost;
  description.pcie = {30_GBps, 20_GBps};
  const Topology topology(description);
  const Rates rates = nominal_rates(topology);
  const Pattern pattern = send_recv(2, Rank(0), Rank(1), 1_GiB);
  expect_bound(plan_bound(plan_of(pattern, topology, 1), topology, rates), 1_GiB / 30_GBps,
               "PCIe out of GPU 0");
  // In a ring of two, each device sends and receives.
  expect_bound(plan_bound(plan_of(send_recv_ring(2, 1_GiB), topology, 1), topology, rates),
               1_GiB / 20_GBps, "PCIe of GPU 0, both ways");
}

TEST(Bounds, AWireThatSharesThePciePortIsBoundByIt) {
  TopologyDescription description = cluster_description(2, 2);
  description.wire_shares_pcie = true;
  description.pcie = {40_GBps, 40_GBps};
  const Topology topology(description);
  const Pattern pattern = send_recv(4, Rank(0), Rank(2), 1_GiB);
  const Rates rates = nominal_rates(topology);
  // The slots are next to NIC 1, so its GPU's port carries the wire leg.
  expect_bound(plan_bound(plan_of(pattern, topology, 1), topology, rates), 1_GiB / 40_GBps,
               "PCIe out of GPU 1");
  // A kernel copy leaves from the source's own memory.
  expect_bound(own_nic_bound(pattern, topology, rates), 1_GiB / 40_GBps, "PCIe out of GPU 0");
}

TEST(Bounds, AnOversubscribedSwitchBindsWhatCrossesIt) {
  TopologyDescription description = cluster_description(4, 4);
  description.switch_tiers.push_back(
      {.name = "leaf", .nodes_per_switch = 2, .oversubscription = 8.0, .rail_aligned = false});
  const Topology topology(description);
  const Rates rates = nominal_rates(topology);
  // A leaf has 8 NICs of 50 GB/s below and 50 GB/s above.
  ASSERT_EQ(topology.uplink_rate(0, 0), kNicRate);
  const Pattern near = send_recv(16, Rank(0), Rank(4), 840_MiB);
  const Pattern far = send_recv(16, Rank(0), Rank(8), 840_MiB);
  expect_bound(plan_bound(plan_of(near, topology, 3), topology, rates), 840_MiB / (kNicRate * 3.0),
               "NIC 1, sending");
  expect_bound(plan_bound(plan_of(far, topology, 3), topology, rates), 840_MiB / kNicRate,
               "leaf switch 0, upwards");
}

TEST(Bounds, APatternCannotBeatAllNicsOfANode) {
  // Every hop of this ring leaves its node: 2 messages out of each node of 2 GPUs and 1 NIC.
  TopologyDescription description = cluster_description(2, 2);
  std::erase_if(description.nics, [](const NicDescription& nic) { return nic.gpu == 1; });
  description.rank_gpus = {0, 2, 1, 3};
  description.staging = StagingKind::kHost;
  description.pcie = {kNvlinkRate, kNvlinkRate};
  const Topology topology(description);
  expect_bound(pattern_bound(send_recv_ring(4, 1_GiB), topology, nominal_rates(topology), 1),
               2_GiB / kNicRate, "NICs of node 0, sending");
}

TEST(Bounds, NoPlanOfARingBeatsItsPatternBound) {
  for (const Topology& topology : {cluster(2, 8), cluster(3, 3), host_staged_cluster(2, 3)}) {
    const Rates rates = nominal_rates(topology);
    const Pattern pattern = send_recv_ring(topology.rank_count(), 16_MiB);
    for (int rails = 1; rails <= 2; ++rails) {
      const Bound best = pattern_bound(pattern, topology, rates, rails);
      EXPECT_LE(best.time, plan_bound(plan_of(pattern, topology, rails), topology, rates).time);
      EXPECT_GT(best.time.count(), 0.0);
    }
  }
}

TEST(Bounds, NothingToMoveTakesNoTime) {
  const Topology topology = cluster(2, 2);
  const Pattern pattern = send_recv(4, Rank(0), Rank(2), 0_B);
  const Bound bound = pattern_bound(pattern, topology, nominal_rates(topology), 1);
  EXPECT_EQ(bound.time.count(), 0.0);
  EXPECT_EQ(bound.port, "");
}

TEST(Bounds, RefusesATopologyThatCannotCarryThePattern) {
  const Topology topology = cluster(2, 1);
  const Pattern pattern = send_recv(2, Rank(0), Rank(1), 1_MiB);
  EXPECT_NE(refusal([&] { pattern_bound(pattern, topology, nominal_rates(topology), 1); }),
            "accepted");
}

}  // namespace
}  // namespace hoccl::engine
