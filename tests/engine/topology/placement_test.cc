#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "engine/base/config_error.h"
#include "engine/topology/topology.h"

namespace hoccl::engine {
namespace {

using namespace literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

Topology nodes_of(std::vector<int> gpus_per_node, std::vector<int> rank_gpus = {},
                  StagingKind staging = StagingKind::kPeer) {
  TopologyDescription result;
  result.name = "test";
  result.nvlink = {200_GBps, 200_GBps};
  result.pcie = {50_GBps, 40_GBps};
  result.staging = staging;
  for (std::size_t node = 0; node < gpus_per_node.size(); ++node) {
    result.nics.push_back({static_cast<int>(node), 0, 50_GBps});
  }
  result.gpus_per_node = std::move(gpus_per_node);
  result.rank_gpus = std::move(rank_gpus);
  return Topology(std::move(result));
}

std::vector<int> gpus_of_ranks(const Topology& topology) {
  std::vector<int> result;
  for (int i = 0; i < topology.rank_count(); ++i) {
    result.push_back(topology.gpu_of(Rank(i)).value());
  }
  return result;
}

TEST(Placement, IsOneRankPerGpuUnlessToldOtherwise) {
  const Topology topology = nodes_of({2, 3});
  EXPECT_EQ(topology.rank_count(), 5);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(topology.gpu_of(Rank(i)), GpuId(i));
  EXPECT_EQ(topology.node_of(Rank(1)), NodeId(0));
  EXPECT_EQ(topology.node_of(Rank(2)), NodeId(1));
  EXPECT_EQ(topology.local_index(Rank(4)), 2);
  EXPECT_EQ(topology.rank_on(GpuId(3)), Rank(3));
}

TEST(Placement, FollowsTheListedGpus) {
  const Topology topology = nodes_of({4, 4}, {5, 2, 4});
  EXPECT_EQ(topology.rank_count(), 3);
  EXPECT_EQ(topology.gpu_of(Rank(0)), GpuId(5));
  EXPECT_THAT(topology.ranks_of(NodeId(0)), ElementsAre(Rank(1)));
  EXPECT_THAT(topology.ranks_of(NodeId(1)), ElementsAre(Rank(0), Rank(2)));
  EXPECT_EQ(topology.local_index(Rank(2)), 1);
  EXPECT_EQ(topology.rank_on(GpuId(4)), Rank(2));
  EXPECT_FALSE(topology.rank_on(GpuId(0)).has_value());
}

TEST(Placement, SpreadsAnEvenCountEquallyFromGpuZeroOfEachNode) {
  EXPECT_THAT(gpus_of_ranks(nodes_of({4, 4}).with_ranks(4)), ElementsAre(0, 1, 4, 5));
  EXPECT_THAT(gpus_of_ranks(nodes_of({4, 4}).with_ranks(2)), ElementsAre(0, 4));
}

TEST(Placement, GivesTheRemainderToTheFirstNodes) {
  EXPECT_THAT(gpus_of_ranks(nodes_of({4, 4, 4}).with_ranks(5)), ElementsAre(0, 1, 4, 5, 8));
  const Topology fewer_than_nodes = nodes_of({4, 4, 4}).with_ranks(2);
  EXPECT_THAT(gpus_of_ranks(fewer_than_nodes), ElementsAre(0, 4));
  EXPECT_THAT(fewer_than_nodes.ranks_of(NodeId(2)), IsEmpty());
}

TEST(Placement, KeepsTheMachineWholeWhenRanksAreFewer) {
  const Topology whole = preset_topology("h800-2x8");
  const Topology two = whole.with_ranks(2);
  EXPECT_EQ(two.gpu_count(), whole.gpu_count());
  EXPECT_EQ(two.nic_count(), whole.nic_count());
  EXPECT_EQ(two.rank_count(), 2);
}

TEST(Placement, SpreadsOverTheListedPlacesInTheirOrder) {
  const Topology topology = nodes_of({4, 4}, {7, 3, 6, 2}).with_ranks(2);
  EXPECT_THAT(gpus_of_ranks(topology), ElementsAre(7, 3));
}

TEST(Placement, OfEveryRankOfAnUnevenMachineIsTheMachineItself) {
  EXPECT_THAT(gpus_of_ranks(nodes_of({1, 3}).with_ranks(4)), ElementsAre(0, 1, 2, 3));
}

TEST(Placement, EverySpreadableCountIsSpreadWithinOneOfEachOther) {
  const Topology topology = nodes_of({8, 8, 8});
  for (int count = 1; count <= topology.rank_count(); ++count) {
    const Topology spread = topology.with_ranks(count);
    ASSERT_EQ(spread.rank_count(), count);
    for (int i = 0; i < 3; ++i) {
      const auto share = static_cast<int>(spread.ranks_of(NodeId(i)).size());
      EXPECT_GE(share, count / 3);
      EXPECT_LE(share, (count + 2) / 3);
    }
  }
}

TEST(Placement, RefusesCountsOutOfRange) {
  const Topology topology = nodes_of({4, 4});
  EXPECT_THAT([&] { (void)topology.with_ranks(0); },
              ThrowsMessage<ConfigError>("topology 'test': key 'ranks' = 0: expected 1 to 8"));
  EXPECT_THAT([&] { (void)topology.with_ranks(9); },
              ThrowsMessage<ConfigError>("topology 'test': key 'ranks' = 9: expected 1 to 8"));
}

TEST(Placement, RefusesACountThatAShortNodeCannotHold) {
  EXPECT_THAT(
      [] {
        (void)nodes_of({4, 1}).with_ranks(4);
      },
      ThrowsMessage<ConfigError>("topology 'test': key 'ranks' = 4: expected a count that spreads "
                                 "evenly over 2 nodes; node 1 would need 2 places and has 1"));
}

TEST(Places, ArePeersMemoryWhenStagingIsPeer) {
  const Topology topology = nodes_of({2, 2});
  EXPECT_EQ(topology.place_of(GpuId(3)), topology.gpu_place(GpuId(3)));
  EXPECT_EQ(topology.gpu_of(topology.place_of(GpuId(3))), GpuId(3));
  EXPECT_EQ(topology.node_of(topology.place_of(GpuId(3))), NodeId(1));
  EXPECT_FALSE(topology.is_host(topology.place_of(GpuId(3))));
  // The NIC of node 1 is next to its GPU 0.
  EXPECT_EQ(topology.place_of(NicId(1)), topology.gpu_place(GpuId(2)));
}

TEST(Places, AreHostMemoryWhenStagingIsHost) {
  const Topology topology = nodes_of({2, 2}, {}, StagingKind::kHost);
  const PlaceId place = topology.place_of(GpuId(3));
  EXPECT_EQ(place, topology.host_place(NodeId(1)));
  EXPECT_EQ(place, topology.place_of(GpuId(2)));
  EXPECT_EQ(place, topology.place_of(NicId(1)));
  EXPECT_TRUE(topology.is_host(place));
  EXPECT_TRUE(topology.gpu_of(place).is_none());
  EXPECT_EQ(topology.node_of(place), NodeId(1));
}

TEST(Places, AreAllDifferent) {
  const Topology topology = nodes_of({2, 3});
  std::set<PlaceId> places;
  for (int i = 0; i < topology.gpu_count(); ++i) places.insert(topology.gpu_place(GpuId(i)));
  for (int i = 0; i < topology.node_count(); ++i) places.insert(topology.host_place(NodeId(i)));
  EXPECT_EQ(static_cast<int>(places.size()), topology.place_count());
  EXPECT_EQ(*places.begin(), PlaceId(0));
  EXPECT_EQ(*places.rbegin(), PlaceId(topology.place_count() - 1));
}

TEST(Places, AreHostedByTheRankOnTheGpuElseTheLowestOfTheNodeElseNobody) {
  const Topology topology = nodes_of({4, 4, 4}, {2, 1, 7});
  EXPECT_EQ(topology.host_of(topology.gpu_place(GpuId(1))), Rank(1));
  EXPECT_EQ(topology.host_of(topology.gpu_place(GpuId(0))), Rank(0));
  EXPECT_EQ(topology.host_of(topology.host_place(NodeId(0))), Rank(0));
  EXPECT_EQ(topology.host_of(topology.gpu_place(GpuId(4))), Rank(2));
  EXPECT_TRUE(topology.host_of(topology.gpu_place(GpuId(8))).is_none());
  EXPECT_TRUE(topology.host_of(topology.host_place(NodeId(2))).is_none());
}

}  // namespace
}  // namespace hoccl::engine
