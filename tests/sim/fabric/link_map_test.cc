#include "sim/fabric/link_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/sim/fabric/fixture.h"

namespace hoccl::sim {
namespace {

using engine::NicId;
using testing::ElementsAre;

class LinkMapTest : public HandDriven {
 protected:
  std::vector<std::string> names(RouteId route) {
    std::vector<std::string> result;
    for (const LinkId link : fabric_->network().links(route)) {
      result.push_back(fabric_->network().name(link));
    }
    return result;
  }
};

TEST_F(LinkMapTest, PeerRoutesLeaveTheSourceAndEnterTheTarget) {
  start("h800-1x8");
  EXPECT_THAT(names(fabric_->links().peer_route(2, 5)),
              ElementsAre("gpu 2 nvlink out", "gpu 5 nvlink in"));
}

TEST_F(LinkMapTest, HostRoutesCrossTheDuplexCap) {
  start("h200-1x1");
  EXPECT_THAT(names(fabric_->links().to_host_route(0)),
              ElementsAre("gpu 0 pcie to host", "gpu 0 pcie both ways"));
  EXPECT_THAT(names(fabric_->links().from_host_route(0)),
              ElementsAre("gpu 0 pcie from host", "gpu 0 pcie both ways"));
}

TEST_F(LinkMapTest, WireRoutesClimbToWhereTheNicsMeet) {
  engine::TopologyDescription description = engine::preset_topology("h800-4x2").description();
  description.switch_tiers = {
      {.name = "leaf", .nodes_per_switch = 2, .oversubscription = 1.0, .rail_aligned = false}};
  start(engine::Topology(description));
  EXPECT_THAT(names(fabric_->links().wire_route(NicId(0), NicId(2))),
              ElementsAre("nic 0 send", "nic 2 receive"));
  EXPECT_THAT(names(fabric_->links().wire_route(NicId(0), NicId(6))),
              ElementsAre("nic 0 send", "leaf 0 up", "leaf 1 down", "nic 6 receive"));
}

TEST_F(LinkMapTest, SharedPcieIsCrossedAtBothEndsEvenBelowTwoTiers) {
  engine::TopologyDescription description = engine::preset_topology("h200-4x2").description();
  description.switch_tiers = {
      {.name = "leaf", .nodes_per_switch = 1, .oversubscription = 1.0, .rail_aligned = false},
      {.name = "spine", .nodes_per_switch = 2, .oversubscription = 1.0, .rail_aligned = false}};
  start(engine::Topology(description));
  EXPECT_THAT(names(fabric_->links().wire_route(NicId(0), NicId(6))),
              ElementsAre("gpu 0 pcie to host", "gpu 0 pcie both ways", "nic 0 send", "leaf 0 up",
                          "spine 0 up", "spine 1 down", "leaf 3 down", "nic 6 receive",
                          "gpu 6 pcie from host", "gpu 6 pcie both ways"));
}

TEST_F(LinkMapTest, LinksCarryCalibratedRates) {
  start("h800-2x8");
  EXPECT_DOUBLE_EQ(fabric_->network().capacity(fabric_->links().nvlink_out(0)).value(),
                   nvlink_rate().value());
  EXPECT_DOUBLE_EQ(fabric_->network().capacity(fabric_->links().nic_send(NicId(3))).value(),
                   nic_rate().value());
}

}  // namespace
}  // namespace hoccl::sim
