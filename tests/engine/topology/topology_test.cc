#include "engine/topology/topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <ostream>
#include <string>

#include "engine/base/config_error.h"

namespace hoccl::engine {
namespace {

using namespace literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::ThrowsMessage;

/// Two nodes of unequal size: 4 and 2 GPUs, one NIC next to each GPU.
TopologyDescription uneven() {
  TopologyDescription result;
  result.name = "uneven";
  result.gpus_per_node = {4, 2};
  result.nvlink = {200_GBps, 200_GBps};
  result.pcie = {50_GBps, 40_GBps};
  for (int gpu = 0; gpu < 4; ++gpu) result.nics.push_back({0, gpu, 50_GBps});
  for (int gpu = 0; gpu < 2; ++gpu) result.nics.push_back({1, gpu, 50_GBps});
  return result;
}

TEST(Topology, NumbersGpusNodeByNode) {
  const Topology topology(uneven());
  EXPECT_EQ(topology.node_count(), 2);
  EXPECT_EQ(topology.gpu_count(), 6);
  EXPECT_EQ(topology.device_count(), 6);
  EXPECT_THAT(topology.gpus_of(NodeId(0)), ElementsAre(GpuId(0), GpuId(1), GpuId(2), GpuId(3)));
  EXPECT_THAT(topology.gpus_of(NodeId(1)), ElementsAre(GpuId(4), GpuId(5)));
  EXPECT_EQ(topology.gpu(GpuId(5)).node, NodeId(1));
  EXPECT_EQ(topology.gpu(GpuId(5)).index, 1);
  EXPECT_EQ(topology.gpu(GpuId(5)).physical, 5);
}

TEST(Topology, NumbersNicsByNodeAndRailsWithinTheNode) {
  TopologyDescription description = uneven();
  // Described out of order, and with a second NIC next to GPU 0 of node 1.
  description.nics = {{1, 0, 50_GBps}, {0, 2, 25_GBps}, {1, 0, 25_GBps}, {0, 0, 50_GBps}};
  const Topology topology(description);
  EXPECT_EQ(topology.nic_count(), 4);
  EXPECT_EQ(topology.nic(NicId(0)).gpu, GpuId(2));
  EXPECT_EQ(topology.nic(NicId(0)).rail, 0);
  EXPECT_EQ(topology.nic(NicId(0)).rate, 25_GBps);
  EXPECT_EQ(topology.nic(NicId(1)).gpu, GpuId(0));
  EXPECT_EQ(topology.nic(NicId(1)).rail, 1);
  EXPECT_EQ(topology.nic(NicId(3)).node, NodeId(1));
  EXPECT_EQ(topology.nic(NicId(3)).rail, 1);
  EXPECT_THAT(topology.nics_of(NodeId(1)), ElementsAre(NicId(2), NicId(3)));
  EXPECT_THAT(topology.nics_of(GpuId(4)), ElementsAre(NicId(2), NicId(3)));
  EXPECT_THAT(topology.nics_of(GpuId(5)), IsEmpty());
  EXPECT_EQ(topology.rail_count(), 2);
}

TEST(Topology, AShortNodeHasNoNicOnTheHighRails) {
  const Topology topology(uneven());
  EXPECT_EQ(topology.rail_count(), 4);
  EXPECT_EQ(topology.nic_on_rail(NodeId(0), 3), NicId(3));
  EXPECT_EQ(topology.nic_on_rail(NodeId(1), 1), NicId(5));
  EXPECT_TRUE(topology.nic_on_rail(NodeId(1), 2).is_none());
  EXPECT_TRUE(topology.nic_on_rail(NodeId(1), -1).is_none());
}

TEST(Topology, TheSymmetricPartnerDiffersInTheLowestBitOnTheSameNode) {
  TopologyDescription description = uneven();
  description.gpus_per_node = {4, 3};
  const Topology topology(description);
  EXPECT_EQ(topology.symmetric_partner(GpuId(0)), GpuId(1));
  EXPECT_EQ(topology.symmetric_partner(GpuId(3)), GpuId(2));
  // Node 1 starts at GPU 4, so it is the index and not the number whose bit is flipped.
  EXPECT_EQ(topology.symmetric_partner(GpuId(5)), GpuId(4));
  EXPECT_TRUE(topology.symmetric_partner(GpuId(6)).is_none());
}

TEST(Topology, PartnersArePartnersOfEachOther) {
  const Topology topology = preset_topology("h800-4x8");
  for (int i = 0; i < topology.gpu_count(); ++i) {
    const GpuId partner = topology.symmetric_partner(GpuId(i));
    ASSERT_FALSE(partner.is_none());
    EXPECT_NE(partner, GpuId(i));
    EXPECT_EQ(topology.symmetric_partner(partner), GpuId(i));
    EXPECT_EQ(topology.gpu(partner).node, topology.gpu(GpuId(i)).node);
  }
}

struct Refused {
  std::string what;
  void (*change)(TopologyDescription&);
  std::string message;
};

void PrintTo(const Refused& refused, std::ostream* out) { *out << refused.what; }

class RefusedTopology : public ::testing::TestWithParam<Refused> {};

TEST_P(RefusedTopology, NamesTheFieldAndWhatWasExpected) {
  TopologyDescription description = uneven();
  GetParam().change(description);
  EXPECT_THAT([&] { Topology{description}; },
              ThrowsMessage<ConfigError>("topology 'uneven': " + GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Description, RefusedTopology,
    ::testing::Values(
        Refused{"NoNodes", [](auto& changed) { changed.gpus_per_node.clear(); },
                "key 'nodes' = 0: expected 1 to 128"},
        Refused{"TooManyNodes", [](auto& changed) { changed.gpus_per_node.assign(129, 1); },
                "key 'nodes' = 129: expected 1 to 128"},
        Refused{"NoGpus", [](auto& changed) { changed.gpus_per_node[1] = 0; },
                "key 'gpus_per_node' = 0: expected 1 to 72"},
        Refused{"NoNvlink", [](auto& changed) { changed.nvlink.in = BytesPerSecond(0.0); },
                "key 'nvlink.in' = 0B/s: expected a rate above zero and at most 100000GB/s"},
        Refused{"NanRate",
                [](auto& changed) {
                  changed.pcie.one_way = BytesPerSecond(std::numeric_limits<double>::quiet_NaN());
                },
                "key 'pcie.one_way' = nanB/s: expected a rate above zero and at most 100000GB/s"},
        Refused{"DuplexAboveOneWay", [](auto& changed) { changed.pcie.duplex_each = 51_GBps; },
                "key 'pcie.duplex_each' = 51GB/s: expected at most pcie.one_way, 50GB/s"},
        Refused{"NicOfNoNode", [](auto& changed) { changed.nics[0].node = 2; },
                "key 'nic.node' = 2: expected 0 to 1"},
        Refused{"NicOfNoGpu", [](auto& changed) { changed.nics[5].gpu = 2; },
                "key 'nic.gpu' = 2: expected 0 to 1, a GPU of node 1"},
        Refused{"NodeWithoutNic", [](auto& changed) { changed.nics.resize(4); },
                "key 'nic' = none: expected at least one NIC on node 1, because there are several "
                "nodes"},
        Refused{"RateOnMap", [](auto& changed) { changed.wire = WireKind::kMap; },
                "key 'nic_rate' = 50GB/s: expected no rate, because nothing moves on a map wire"},
        Refused{"SharedPeers", [](auto& changed) { changed.shared_device = true; },
                "key 'gpus_per_node' = 4: expected 1, because a shared device has one logical node "
                "per rank"},
        Refused{"SharedWithPeerStaging",
                [](auto& changed) {
                  changed.shared_device = true;
                  changed.gpus_per_node = {1, 1};
                },
                "key 'staging' = peer: expected host, because a shared device has no peer"},
        Refused{"RankOnNoGpu",
                [](auto& changed) {
                  changed.rank_gpus = {0, 6};
                },
                "key 'ranks' = 6: expected GPU numbers from 0 to 5"},
        Refused{"TwoRanksOnOneGpu",
                [](auto& changed) {
                  changed.rank_gpus = {3, 3};
                },
                "key 'ranks' = 3: expected each GPU at most once"}),
    [](const auto& test) { return test.param.what; });

TEST(TopologyDeathTest, AnIdOfAnotherTopologyIsAProgrammerError) {
  const Topology topology(uneven());
  EXPECT_DEATH((void)topology.gpu(GpuId(6)), "GPU 6 of 6");
  EXPECT_DEATH((void)topology.nic(NicId::none()), "NIC -1 of 6");
  EXPECT_DEATH((void)topology.node_of(Rank(6)), "rank 6 of 6");
}

}  // namespace
}  // namespace hoccl::engine
