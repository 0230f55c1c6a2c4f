#include <gtest/gtest.h>

#include <limits>

#include "engine/base/config_error.h"
#include "engine/topology/topology.h"

namespace hoccl::engine {
namespace {

using namespace literals;

/// 8 nodes of 2 GPUs with a NIC each; leaves of 2 nodes per rail, spines of 4 nodes, then a core.
TopologyDescription two_tiers() {
  TopologyDescription result;
  result.name = "tiers";
  result.gpus_per_node.assign(8, 2);
  result.nvlink = {200_GBps, 200_GBps};
  result.pcie = {50_GBps, 40_GBps};
  for (int node = 0; node < 8; ++node) {
    for (int gpu = 0; gpu < 2; ++gpu) result.nics.push_back({node, gpu, 50_GBps});
  }
  result.switch_tiers = {{"leaf", 2, 1.0, true}, {"spine", 4, 2.0, false}};
  return result;
}

NicId nic_at(const Topology& topology, int node, int rail) {
  return topology.nic_on_rail(NodeId(node), rail);
}

TEST(SwitchTiers, CountSwitchesPerRailWhereAligned) {
  const Topology topology(two_tiers());
  EXPECT_EQ(topology.switch_count(0), 8 / 2 * 2);
  EXPECT_EQ(topology.switch_count(1), 8 / 4);
}

TEST(SwitchTiers, RoundUpWhenNodesDoNotFillTheLastSwitch) {
  TopologyDescription description = two_tiers();
  description.switch_tiers = {{"leaf", 3, 1.0, false}};
  EXPECT_EQ(Topology(description).switch_count(0), 3);
}

TEST(SwitchTiers, MeetAtTheLowestSwitchAboveBothNics) {
  const Topology topology(two_tiers());
  EXPECT_EQ(topology.meeting_tier(nic_at(topology, 0, 1), nic_at(topology, 1, 1)), 0);
  // Another rail of the neighbour is below another leaf.
  EXPECT_EQ(topology.meeting_tier(nic_at(topology, 0, 0), nic_at(topology, 1, 1)), 1);
  EXPECT_EQ(topology.meeting_tier(nic_at(topology, 0, 0), nic_at(topology, 3, 0)), 1);
  EXPECT_EQ(topology.meeting_tier(nic_at(topology, 0, 0), nic_at(topology, 4, 0)), 2);
}

TEST(SwitchTiers, MeetInTheCoreWhenThereAreNoSwitches) {
  const Topology topology = preset_topology("h800-2x8");
  EXPECT_TRUE(topology.switch_tiers().empty());
  EXPECT_EQ(topology.meeting_tier(nic_at(topology, 0, 0), nic_at(topology, 1, 0)), 0);
}

TEST(SwitchTiers, UplinksCarryTheNicsBelowDividedByTheOversubscription) {
  const Topology topology(two_tiers());
  const int leaf = topology.switch_of(0, nic_at(topology, 0, 0));
  EXPECT_DOUBLE_EQ(topology.uplink_rate(0, leaf).value(), 2 * 50e9);
  const int spine = topology.switch_of(1, nic_at(topology, 7, 0));
  EXPECT_DOUBLE_EQ(topology.uplink_rate(1, spine).value(), 4 * 2 * 50e9 / 2.0);
}

TEST(SwitchTiers, EveryNicIsBelowASwitchThatExists) {
  const Topology topology(two_tiers());
  for (int tier = 0; tier < 2; ++tier) {
    double below = 0.0;
    for (int i = 0; i < topology.switch_count(tier); ++i) {
      below += topology.uplink_rate(tier, i).value();
    }
    const double oversubscription =
        topology.switch_tiers()[static_cast<std::size_t>(tier)].oversubscription;
    EXPECT_DOUBLE_EQ(below * oversubscription, 16 * 50e9);
  }
}

void expect_refused(const TopologyDescription& description, const std::string& message) {
  try {
    const Topology topology(description);
    FAIL() << "accepted, expected: " << message;
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.what(), "topology 'tiers': " + message);
  }
}

TEST(SwitchTiers, MustNest) {
  TopologyDescription description = two_tiers();
  description.switch_tiers[1].nodes_per_switch = 3;
  expect_refused(description,
                 "key 'switch_tier[1].nodes_per_switch' = 3: expected a multiple of 2, the nodes "
                 "below a switch of the tier below");
}

TEST(SwitchTiers, CannotGainBandwidth) {
  TopologyDescription description = two_tiers();
  description.switch_tiers[0].oversubscription = 0.5;
  expect_refused(description,
                 "key 'switch_tier[0].oversubscription' = 0.5: expected a ratio of at least 1");
}

TEST(SwitchTiers, CannotSeparateRailsAgainHigherUp) {
  TopologyDescription description = two_tiers();
  description.switch_tiers[0].rail_aligned = false;
  description.switch_tiers[1].rail_aligned = true;
  expect_refused(description,
                 "key 'switch_tier[1].rail_aligned' = true: expected false, because the tier below "
                 "joins the rails");
}

TEST(SwitchTiers, DoNotExistOnAMapWire) {
  TopologyDescription description = two_tiers();
  description.wire = WireKind::kMap;
  for (NicDescription& nic : description.nics) {
    nic.rate = BytesPerSecond(std::numeric_limits<double>::infinity());
  }
  expect_refused(description, "key 'switch_tier[0].name' = leaf: expected no switch on a map wire");
}

}  // namespace
}  // namespace hoccl::engine
