#include "hw/run/link_bound.h"

#include <gtest/gtest.h>

#include "engine/topology/topology.h"

namespace hoccl::hw {
namespace {

using engine::Bytes;
using engine::BytesPerSecond;
using engine::Rank;
using engine::Seconds;
using namespace engine::literals;

const BytesPerSecond kRate(1e9);
const Seconds kDelay(1e-3);

RunScenario between_nodes() {
  RunScenario scenario{.topology = engine::preset_topology("h800-2x4")};
  scenario.traffic.request.target = Rank(4);
  scenario.compile.chunk_size = 1_MiB;
  scenario.hardware.link_rate = kRate;
  scenario.hardware.link_delay = kDelay;
  return scenario;
}

TEST(LinkBound, IsWhatTheBusiestNicSendsAndThenTheDelay) {
  RunScenario scenario = between_nodes();
  EXPECT_DOUBLE_EQ(link_bound(scenario, 8_MiB)->count(), (8_MiB / kRate + kDelay).count());
  // Two NICs share it.
  scenario.compile.rails = 2;
  EXPECT_DOUBLE_EQ(link_bound(scenario, 8_MiB)->count(), (4_MiB / kRate + kDelay).count());
}

TEST(LinkBound, IsTheDelayAloneWithoutARate) {
  RunScenario scenario = between_nodes();
  scenario.hardware.link_rate.reset();
  EXPECT_EQ(link_bound(scenario, 8_MiB), kDelay);
}

TEST(LinkBound, IsNoneWhereNothingIsShapedOrNoNicSends) {
  RunScenario scenario = between_nodes();
  scenario.traffic.request.target = Rank(1);
  EXPECT_FALSE(link_bound(scenario, 8_MiB));
  scenario = between_nodes();
  scenario.hardware.link_rate.reset();
  scenario.hardware.link_delay = Seconds(0.0);
  EXPECT_FALSE(link_bound(scenario, 8_MiB));
}

TEST(LinkBoundDeathTest, ATimeBelowItEndsTheProgram) {
  engine::RunResult result;
  result.size = 1_MiB;
  result.bound = Seconds(1e-3);
  result.rounds = engine::Rounds{
      .count = 2, .iterations = 1, .fastest = Seconds(1e-3), .slowest = Seconds(2e-3)};
  check_link_bound(result);
  result.rounds->fastest = Seconds(0.99e-3);
  EXPECT_DEATH(check_link_bound(result), "beat the link's bound");
}

}  // namespace
}  // namespace hoccl::hw
