#include "sim/machine/max_min.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "engine/base/random.h"
#include "tests/sim/machine/reference_flows.h"

namespace hoccl::sim {
namespace {

using engine::Random;

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

TEST(MaxMin, GivesTheUnusedShareOfAFlowLimitedElsewhereToTheOthers) {
  MaxMin solver;
  const MaxMin::Link wide = solver.add_link(10.0);
  const MaxMin::Link narrow = solver.add_link(2.0);
  solver.add_flow(0, std::vector{wide, narrow}, kUnlimited);
  solver.add_flow(1, std::vector{wide}, kUnlimited);
  solver.solve();
  EXPECT_DOUBLE_EQ(solver.rate(0), 2.0);
  EXPECT_DOUBLE_EQ(solver.rate(1), 10.0 - 2.0);
}

TEST(MaxMin, ReportsOnlyTheFlowsWhoseRateChanged) {
  MaxMin solver;
  const MaxMin::Link left = solver.add_link(8.0);
  const MaxMin::Link right = solver.add_link(8.0);
  solver.add_flow(0, std::vector{left}, kUnlimited);
  solver.add_flow(1, std::vector{right}, kUnlimited);
  EXPECT_EQ(solver.solve().size(), 2U);
  solver.add_flow(2, std::vector{right}, kUnlimited);
  const auto changed = solver.solve();
  EXPECT_EQ(std::vector<MaxMin::Flow>(changed.begin(), changed.end()),
            (std::vector<MaxMin::Flow>{1, 2}));
  EXPECT_FALSE(solver.is_dirty());
  EXPECT_TRUE(solver.solve().empty());
}

/// Flow i crosses links i and i + 1. Link 0 limits flow 0 to x(0); link i limits flow i to
/// x(i) = C(i) - x(i - 1), which is above x(i - 1). So a change d of C(0) changes every rate, by
/// +d, -d, +d and so on, as long as d keeps the order of the rates, which are 10 apart.
TEST(MaxMin, CarriesAChangeThroughALongChainOfBottlenecks) {
  constexpr std::size_t kLinks = 100;
  MaxMin solver;
  std::vector<double> capacities;
  std::vector<ReferenceFlow> flows;
  for (std::size_t i = 0; i < kLinks; ++i) {
    capacities.push_back(i == 0 ? 100.0 : 190.0 + 20.0 * static_cast<double>(i));
    solver.add_link(capacities.back());
  }
  for (std::size_t i = 0; i + 1 < kLinks; ++i) {
    flows.push_back({0.0, 0.0, kUnlimited, {i, i + 1}});
    solver.add_flow(static_cast<MaxMin::Flow>(i),
                    std::vector{static_cast<MaxMin::Link>(i), static_cast<MaxMin::Link>(i + 1)},
                    kUnlimited);
  }
  solver.solve();
  for (const double first : {97.0, 103.0, 98.0}) {
    capacities[0] = first;
    solver.set_capacity(0, first);
    const std::size_t changed = solver.solve().size();
    std::vector<const ReferenceFlow*> all;
    for (const ReferenceFlow& flow : flows) all.push_back(&flow);
    const std::vector<double> expected = reference_rates(capacities, all);
    for (std::size_t i = 0; i < flows.size(); ++i) {
      EXPECT_NEAR(solver.rate(static_cast<MaxMin::Flow>(i)), expected[i], 1e-10 * expected[i]);
      const double x =
          100.0 + 10.0 * static_cast<double>(i) + (i % 2 == 0 ? 1 : -1) * (first - 100.0);
      EXPECT_NEAR(expected[i], x, 1e-10 * x);
    }
    EXPECT_EQ(changed, flows.size());
  }
}

class MaxMinChanges : public testing::TestWithParam<std::uint64_t> {};

TEST_P(MaxMinChanges, KeepRatesEqualToProgressiveFilling) {
  Random random(GetParam());
  const auto link_count = random.between(3, 40);
  MaxMin solver;
  std::vector<double> capacities;
  for (std::int64_t i = 0; i < link_count; ++i) {
    capacities.push_back(random.chance(0.5) ? 100.0 : 10.0 + 200.0 * random.uniform());
    solver.add_link(capacities.back());
  }
  std::map<MaxMin::Flow, ReferenceFlow> flows;
  for (int step = 0; step < 300; ++step) {
    for (auto changes = random.between(1, 3); changes > 0; --changes) {
      const auto slot = static_cast<MaxMin::Flow>(random.between(0, 60));
      if (flows.contains(slot)) {
        solver.remove_flow(slot);
        flows.erase(slot);
      } else if (random.chance(0.9)) {
        ReferenceFlow flow;
        if (random.chance(0.3)) flow.limit = 1.0 + 50.0 * random.uniform();
        for (auto hops = random.between(1, std::min<std::int64_t>(4, link_count)); hops > 0;) {
          const auto link = static_cast<std::size_t>(random.between(0, link_count - 1));
          if (std::ranges::find(flow.links, link) != flow.links.end()) continue;
          flow.links.push_back(link);
          --hops;
        }
        solver.add_flow(slot, std::vector<MaxMin::Link>(flow.links.begin(), flow.links.end()),
                        flow.limit);
        flows[slot] = flow;
      } else {
        const auto link = static_cast<std::size_t>(random.between(0, link_count - 1));
        capacities[link] = 10.0 + 200.0 * random.uniform();
        solver.set_capacity(static_cast<MaxMin::Link>(link), capacities[link]);
      }
    }
    solver.solve();
    std::vector<const ReferenceFlow*> all;
    for (const auto& [slot, flow] : flows) all.push_back(&flow);
    const std::vector<double> expected = reference_rates(capacities, all);
    std::size_t i = 0;
    for (const auto& [slot, flow] : flows) {
      ASSERT_NEAR(solver.rate(slot), expected[i], 1e-10 * expected[i])
          << "seed " << GetParam() << ", step " << step << ", flow " << slot;
      ++i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seed, MaxMinChanges, testing::Range<std::uint64_t>(1, 31));

}  // namespace
}  // namespace hoccl::sim
