#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "tests/sim/machine/flow_scenario.h"

namespace hoccl::sim {

/// Largest relative difference of two lists of finish times.
inline double largest_difference(const std::vector<double>& left,
                                 const std::vector<double>& right) {
  double largest = 0.0;
  for (std::size_t i = 0; i < left.size(); ++i) {
    largest = std::max(largest, std::abs(left[i] - right[i]) / right[i]);
  }
  return largest;
}

/// Both network models give every flow of the scenario the same finish time, to 1e-9.
inline void expect_agreement(std::uint64_t seed, int max_flows) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  const FlowScenario scenario = random_scenario(seed, max_flows);
  const ScenarioResult fluid = simulate_in_child(scenario, NetworkKind::kFluid);
  const ScenarioResult cm02 = simulate_in_child(scenario, NetworkKind::kCm02);
  EXPECT_LE(largest_difference(fluid.finish, cm02.finish), 1e-9);
  EXPECT_EQ(fluid.carried, cm02.carried);
}

}  // namespace hoccl::sim
