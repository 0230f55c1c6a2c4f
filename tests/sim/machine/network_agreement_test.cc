#include "tests/sim/machine/network_agreement.h"

namespace hoccl::sim {
namespace {

class NetworkAgreement : public testing::TestWithParam<std::uint64_t> {};

TEST_P(NetworkAgreement, FluidAndCm02GiveTheSameFinishTimes) { expect_agreement(GetParam(), 2000); }

TEST_P(NetworkAgreement, BothAgreeWithProgressiveFillingOnSmallScenarios) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  const FlowScenario scenario = random_scenario(GetParam(), 200);
  const std::vector<double> expected =
      reference_finish_times(scenario.capacities, scenario.flows, scenario.changes);
  for (const NetworkKind kind : {NetworkKind::kFluid, NetworkKind::kCm02}) {
    SCOPED_TRACE(to_string(kind));
    const ScenarioResult result = simulate_in_child(scenario, kind);
    EXPECT_LE(largest_difference(result.finish, expected), 1e-9);
    std::vector<double> carried(scenario.capacities.size(), 0.0);
    for (const ReferenceFlow& flow : scenario.flows) {
      for (const std::size_t link : flow.links) carried[link] += flow.size;
    }
    EXPECT_EQ(result.carried, carried);
  }
}

INSTANTIATE_TEST_SUITE_P(Seed, NetworkAgreement, testing::Range<std::uint64_t>(1, 21));

}  // namespace
}  // namespace hoccl::sim
