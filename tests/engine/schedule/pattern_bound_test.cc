// Bounds of patterns: the values known in closed form, and a search through all ways to share out
// chunks on small machines, which none beats and some attain.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "engine/base/random.h"
#include "engine/pattern/metrics.h"
#include "engine/pattern/pattern.h"
#include "engine/pattern/sendrecv.h"
#include "engine/schedule/bounds.h"
#include "engine/schedule/node_cut.h"
#include "tests/engine/schedule/topologies.h"

namespace hoccl::engine {
namespace {

using namespace literals;
using testing::HasSubstr;

// Relative difference allowed between two ways to compute the same quotient.
constexpr double kRounding = 1e-9;

const double kV = kNvlinkRate.value();
const double kB = kNicRate.value();

Pattern pattern_on(const Topology& topology, const std::string& name, Bytes size, bool in_place) {
  return make_pattern({.name = name, .size = size, .in_place = in_place}, topology.rank_count());
}

double bound_in_seconds(const Topology& topology, const std::string& name, bool in_place) {
  const Pattern pattern = pattern_on(topology, name, 1_GiB, in_place);
  return pattern_bound(pattern, topology, nominal_rates(topology), 0).time.count();
}

double busbw_of_bound(const Topology& topology, const std::string& name, bool in_place) {
  const Pattern pattern = pattern_on(topology, name, 1_GiB, in_place);
  const Bound bound = pattern_bound(pattern, topology, nominal_rates(topology), 0);
  return gigabytes_per_second(busbw(pattern, bound.time));
}

const double kS = static_cast<double>((1_GiB).count());

void expect_seconds(double found, double expected) {
  EXPECT_NEAR(found, expected, expected * kRounding);
}

TEST(PatternBound, AllGatherIsBoundByNvlinkIntoANode) {
  // In place every GPU takes in 15/16 of the result, and the node's 8 shares once more for staging.
  expect_seconds(bound_in_seconds(cluster(2, 8), "allgather", true),
                 (8 * 15.0 / 16 + 8.0 / 16) / 8 * kS / kV);
  EXPECT_NEAR(busbw_of_bound(cluster(2, 8), "allgather", true), 187.5, 1e-6);
  EXPECT_NEAR(busbw_of_bound(cluster(4, 8), "allgather", true), 31.0 / 32 * 200, 1e-6);
  // Out of place also its own share, over a peer.
  EXPECT_NEAR(busbw_of_bound(cluster(2, 8), "allgather", false), 15.0 / 17 * 200, 1e-6);
  EXPECT_NEAR(busbw_of_bound(cluster(4, 8), "allgather", false), 31.0 / 33 * 200, 1e-6);
}

TEST(PatternBound, AllGatherInOneNodeIsItsResultOverNvlink) {
  expect_seconds(bound_in_seconds(cluster(1, 8), "allgather", true), 7.0 / 8 * kS / kV);
  expect_seconds(bound_in_seconds(cluster(1, 8), "allgather", false), kS / kV);
}

TEST(PatternBound, AllToAllIsBoundByTheNics) {
  for (const bool in_place : {true, false}) {
    expect_seconds(bound_in_seconds(cluster(2, 8), "alltoall", in_place), 1.0 / 2 * kS / kB);
    expect_seconds(bound_in_seconds(cluster(4, 8), "alltoall", in_place), 3.0 / 4 * kS / kB);
  }
  EXPECT_NEAR(busbw_of_bound(cluster(2, 8), "alltoall", true), 93.75, 1e-6);
  EXPECT_NEAR(busbw_of_bound(cluster(4, 8), "alltoall", true), 64.583333333, 1e-6);
}

TEST(PatternBound, AllToAllIsBoundByNvlinkWhereTheNicsAreFast) {
  TopologyDescription description = cluster_description(2, 8);
  for (NicDescription& nic : description.nics) nic.rate = kNvlinkRate;
  // (2 N - g - 1) / N of the buffer, in place.
  expect_seconds(bound_in_seconds(Topology(description), "alltoall", true), 23.0 / 16 * kS / kV);
  expect_seconds(bound_in_seconds(Topology(description), "alltoall", false), 24.0 / 16 * kS / kV);
}

TEST(PatternBound, GatherAndScatterAreBoundByTheRoot) {
  for (const char* name : {"gather", "scatter"}) {
    for (const int nodes : {2, 4}) {
      const double ranks = 8.0 * nodes;
      expect_seconds(bound_in_seconds(cluster(nodes, 8), name, true),
                     (ranks - 1) / ranks * kS / kV);
      expect_seconds(bound_in_seconds(cluster(nodes, 8), name, false), kS / kV);
    }
  }
}

TEST(PatternBound, BroadcastIsBoundByTheOtherGpusOfTheRootsNode) {
  // All seven take in the buffer, and stage all of it but what leaves from the root's own GPU,
  // where a peer can stage it: 7 S + S <= 7 V T + B T, a little above S / V.
  for (const int nodes : {2, 4}) {
    expect_seconds(bound_in_seconds(cluster(nodes, 8), "broadcast", true), 8 * kS / (7 * kV + kB));
    // The root's own copy fills its GPU too: 8 S + S over all eight.
    expect_seconds(bound_in_seconds(cluster(nodes, 8), "broadcast", false), 9.0 / 8 * kS / kV);
  }
  expect_seconds(bound_in_seconds(cluster(1, 8), "broadcast", true), kS / kV);
}

TEST(PatternBound, OneMessageMayUseAllNicsButThoseOfItsOwnGpus) {
  const Topology topology = cluster(2, 4);
  const Pattern pattern = send_recv(8, Rank(0), Rank(4), 1_GiB);
  const Bound bound = pattern_bound(pattern, topology, nominal_rates(topology), 0);
  expect_seconds(bound.time.count(), kS / (3 * kB));
  EXPECT_THAT(bound.port, HasSubstr("rank 0 relays"));
}

TEST(PatternBound, AChainCrossesNodesOnOneNicOrAsManyAsAllowed) {
  const Topology topology = cluster(2, 8);
  const Pattern chain = pp_chain(16, 1_GiB);
  const Rates rates = nominal_rates(topology);
  expect_seconds(pattern_bound(chain, topology, rates, 1).time.count(), kS / kB);
  expect_seconds(pattern_bound(chain, topology, rates, 3).time.count(), kS / (3 * kB));
  // Rank 7's message is staged in GPU 0, which takes in nothing else, and in six that do.
  expect_seconds(pattern_bound(chain, topology, rates, 0).time.count(), 7 * kS / (6 * kV + kB));
}

TEST(PatternBound, SharedBytesCountOnce) {
  // Two flows of the same bytes, one to each rank of the other node: what a plan may serve at once.
  const Topology topology = cluster(2, 3);
  Pattern pattern = send_recv(6, Rank(0), Rank(4), 1_GiB);
  pattern.flows.push_back(pattern.flows[0]);
  pattern.flows[1].target = Rank(5);
  const Rates rates = nominal_rates(topology);
  expect_seconds(pattern_bound(pattern, topology, rates, 0).time.count(), kS / (2 * kB));
  pattern.flows[1].source_offset = 1_GiB;
  expect_seconds(pattern_bound(pattern, topology, rates, 0).time.count(), 2 * kS / (2 * kB));
}

TEST(PatternBound, CalibratedRatesCountWhereTheyAreLower) {
  const Topology topology = cluster(2, 8);
  Rates rates = nominal_rates(topology);
  rates.nvlink = BytesPerSecond(192.2e9);
  rates.nic = BytesPerSecond(48.8e9);
  const Pattern gather = pattern_on(topology, "allgather", 1_GiB, true);
  expect_seconds(pattern_bound(gather, topology, rates, 0).time.count(), kS / 192.2e9);
  const Pattern exchange = pattern_on(topology, "alltoall", 1_GiB, true);
  expect_seconds(pattern_bound(exchange, topology, rates, 0).time.count(), kS / 2 / 48.8e9);
  // A source executes the push of 15/16, a target the pull of 8/16.
  rates.copy_engine = BytesPerSecond(100e9);
  expect_seconds(pattern_bound(exchange, topology, rates, 0).time.count(),
                 (15.0 + 8.0) / 16 * kS / 100e9);
}

TEST(PatternBound, AnOversubscribedSwitchBoundsWhatMustCrossIt) {
  TopologyDescription description = cluster_description(4, 4);
  description.switch_tiers.push_back(
      {.name = "leaf", .nodes_per_switch = 2, .oversubscription = 8.0, .rail_aligned = false});
  const Topology topology(description);
  // Under a leaf, 8 ranks send half of their buffers to the other leaf's over 8 NICs' rate / 8.
  const Pattern pattern = pattern_on(topology, "alltoall", 1_GiB, true);
  const Bound bound = pattern_bound(pattern, topology, nominal_rates(topology), 0);
  expect_seconds(bound.time.count(), 8 * kS / 2 / kB);
  EXPECT_EQ(bound.port, "leaf switches of group 0, upwards");
}

TEST(PatternBound, HostMemoryIsBoundByPcieWhereNobodyCanHelp) {
  const Topology topology = host_staged_cluster(2, 4);
  const double pcie = 45e9;  // each way, while both are busy
  // Half of each rank's buffer leaves and half enters, and its own eighth both: 5/8 each way.
  expect_seconds(bound_in_seconds(topology, "alltoall", false), 5.0 / 8 * kS / pcie);
  expect_seconds(bound_in_seconds(topology, "alltoall", true),
                 std::max(4.0 / 8 * kS / pcie, 4.0 / 8 * kS / kB));
}

TEST(PatternBound, RefusesAnOwnShareThatCannotLeaveItsGpu) {
  TopologyDescription description = cluster_description(1, 1);
  EXPECT_THAT(refusal([&] {
                const Topology topology(description);
                pattern_bound(pattern_on(topology, "alltoall", 1_MiB, false), topology,
                              nominal_rates(topology), 0);
              }),
              HasSubstr("node 0 has 1 GPU: expected another one"));
}

TEST(BalancedRailBound, AddsEveryGpusShareOfTheRelays) {
  // Rank 0 of 2x2 is the only one to send anything: 6 MiB to rank 1 and 4 MiB to rank 2.
  const Topology topology = cluster(2, 2);
  Pattern pattern = send_recv(4, Rank(0), Rank(1), 6_MiB);
  pattern.flows.push_back(pattern.flows[0]);
  pattern.flows[1].target = Rank(2);
  pattern.flows[1].source_offset = 6_MiB;
  pattern.flows[1].size = 4_MiB;
  Rates rates = nominal_rates(topology);
  rates.nvlink = BytesPerSecond(40e9);
  // e + X = 10 out of GPU 0; f + R / g = 6 + 2 into GPU 1.
  const Bound out = balanced_rail_bound(pattern, topology, rates);
  expect_seconds(out.time.count(), 10.0 * (1 << 20) / 40e9);
  pattern.flows[0].source = Rank(1);
  pattern.flows[0].target = Rank(0);
  // 6 + 2 into GPU 0, 6 out of GPU 1; the message's own NVLink needs less.
  EXPECT_EQ(balanced_rail_bound(pattern, topology, rates).port,
            "NVLink into GPU 0 with its share of the relays");
  expect_seconds(balanced_rail_bound(pattern, topology, rates).time.count(),
                 8.0 * (1 << 20) / 40e9);
}

TEST(BalancedRailBound, IsThePatternsBoundWhereAllIsAlike) {
  for (const char* name : {"allgather", "alltoall"}) {
    for (const bool in_place : {true, false}) {
      const Topology topology = cluster(2, 8);
      const Pattern pattern = pattern_on(topology, name, 1_GiB, in_place);
      const Rates rates = nominal_rates(topology);
      expect_seconds(balanced_rail_bound(pattern, topology, rates).time.count(),
                     pattern_bound(pattern, topology, rates, 0).time.count());
    }
  }
}

// ---- Small searches ----

constexpr int kGpus = 3;

/// What one node's GPUs have to carry in one direction, in chunks.
struct Side {
  std::vector<int> own;      ///< over NVLink for their own ranks
  std::vector<int> relayed;  ///< by rank: over NICs, staged in any GPU but its own
};

/// Least time over all ways to share out the relayed chunks, in chunk times of 1 B/s.
double best_sharing(const Side& side, double nvlink, double nic) {
  double best = std::numeric_limits<double>::infinity();
  std::vector<int> staged(kGpus, 0);
  const std::function<void(int)> share = [&](int rank) {
    if (rank == kGpus) {
      double time = 0.0;
      for (std::size_t gpu = 0; gpu < staged.size(); ++gpu) {
        time = std::max({time, (side.own[gpu] + staged[gpu]) / nvlink, staged[gpu] / nic});
      }
      best = std::min(best, time);
      return;
    }
    const auto first = static_cast<std::size_t>((rank + 1) % kGpus);
    const auto second = static_cast<std::size_t>((rank + 2) % kGpus);
    const int chunks = side.relayed[static_cast<std::size_t>(rank)];
    for (int take = 0; take <= chunks; ++take) {
      staged[first] += take;
      staged[second] += chunks - take;
      share(rank + 1);
      staged[first] -= take;
      staged[second] -= chunks - take;
    }
  };
  share(0);
  return best;
}

TEST(PatternBound, NoSharingOfChunksOverTheRailsBeatsItAndTheBestIsWithinAChunk) {
  // Whatever goes to the one node's rails, in whatever order, loads the other's as freely, so both
  // ends and directions can be searched one by one.
  const Topology topology = cluster(2, kGpus);
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Random random(seed);
    Rates rates = nominal_rates(topology);
    rates.nvlink = BytesPerSecond(static_cast<double>(random.between(25, 175)) * 1e9);
    Pattern pattern = send_recv(2 * kGpus, Rank(0), Rank(1), 0_B);
    pattern.flows.clear();
    // By node: in, out.
    std::vector<Side> in(2, Side{std::vector<int>(kGpus, 0), std::vector<int>(kGpus, 0)});
    std::vector<Side> out = in;
    std::vector<Bytes> sent(2 * kGpus);
    std::vector<Bytes> received(2 * kGpus);
    for (std::size_t source = 0; source < 2 * kGpus; ++source) {
      for (std::size_t target = 0; target < 2 * kGpus; ++target) {
        if (source == target || random.chance(1.0 / 3)) continue;
        const int chunks = static_cast<int>(random.between(0, 4));
        const Bytes size = 1_MiB * chunks;
        pattern.flows.push_back({Rank(source), Rank(target), sent[source], received[target], size});
        sent[source] += size;
        received[target] += size;
        out[source / kGpus].own[source % kGpus] += chunks;
        in[target / kGpus].own[target % kGpus] += chunks;
        if (source / kGpus == target / kGpus) continue;
        // Stage-in lands in a GPU of the source's node, deliver leaves one of the target's.
        in[source / kGpus].relayed[source % kGpus] += chunks;
        out[target / kGpus].relayed[target % kGpus] += chunks;
      }
    }
    double best = 0.0;
    for (const std::vector<Side>* sides : {&in, &out}) {
      for (const Side& side : *sides) {
        best = std::max(best, best_sharing(side, rates.nvlink.value(), kB));
      }
    }
    best *= 1 << 20;
    const double bound = pattern_bound(pattern, topology, rates, 0).time.count();
    EXPECT_LE(bound, best * (1 + kRounding)) << "seed " << seed;
    const double chunk = (1 << 20) / std::min(kB, rates.nvlink.value());
    EXPECT_GE(bound, best - chunk * (1 + kRounding)) << "seed " << seed;
  }
}

TEST(PatternBound, NoWayToGatherOverTwoGpusPerNodeBeatsIt) {
  // AllGather on 2x2, shares of c chunks. A chunk leaves either staged by its source in the peer's
  // GPU, or by the peer, that has it by then, in the source's. Wherever it arrives, the other GPU
  // pulls it and passes it on: one chunk out of and into both. So with k of the c chunks of rank 0,
  // and l of rank 1, leaving from the own GPU's NIC:
  //   into GPU 0: c from rank 1, 2 c from elsewhere, k + (c - l) staged; NIC 0 sends k + (c - l).
  const Topology topology = cluster(2, 2);
  const Rates rates = nominal_rates(topology);
  for (int c = 1; c <= 6; ++c) {
    double best = std::numeric_limits<double>::infinity();
    for (int k = 0; k <= c; ++k) {
      for (int l = 0; l <= c; ++l) {
        const int first = k + c - l;
        const int second = l + c - k;
        const int most = std::max(first, second);
        best = std::min(best, std::max((3 * c + most) / kV, most / kB));
      }
    }
    best *= 1 << 20;
    const Pattern pattern = pattern_on(topology, "allgather", 4_MiB * c, true);
    const double bound = pattern_bound(pattern, topology, rates, 0).time.count();
    expect_seconds(bound, best);
  }
}

/// The largest ratio over all sets of GPUs.
double largest_cut(Bytes relayed, const std::vector<RelayPort>& gpus, double nvlink) {
  double largest = 0.0;
  for (unsigned set = 0; set < (1U << gpus.size()); ++set) {
    auto load = static_cast<double>(relayed.count());
    double rate = 0.0;
    for (std::size_t gpu = 0; gpu < gpus.size(); ++gpu) {
      const bool in = (set >> gpu & 1U) != 0;
      load += in ? static_cast<double>(gpus[gpu].own.count()) : 0.0;
      rate += in ? nvlink : gpus[gpu].nics.value();
    }
    if (rate > 0.0) largest = std::max(largest, load / rate);
  }
  return largest;
}

TEST(NodeCut, IsTheLargestOfAllSetsOfGpus) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    std::vector<RelayPort> gpus;
    for (std::int64_t count = random.between(1, 6); count > 0; --count) {
      // 0: no NIC; 250: faster than NVLink.
      const double nic = static_cast<double>(random.between(0, 5)) * 50.0;
      gpus.push_back({Bytes(random.between(0, 999)), BytesPerSecond(nic)});
    }
    gpus.front().nics = BytesPerSecond(50.0);
    const Bytes relayed(random.between(1, 3000));
    const NodeCut cut = worst_cut(relayed, gpus, BytesPerSecond(200.0));
    const double expected = largest_cut(relayed, gpus, 200.0);
    EXPECT_NEAR((cut.load / cut.rate).count(), expected, expected * kRounding) << "seed " << seed;
  }
}

}  // namespace
}  // namespace hoccl::engine
