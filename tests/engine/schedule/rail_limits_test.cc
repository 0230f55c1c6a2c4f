#include "engine/schedule/rail_limits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "engine/pattern/matrix_kind.h"
#include "engine/pattern/traffic_matrix.h"
#include "engine/schedule/bounds.h"
#include "engine/schedule/compile.h"
#include "engine/schedule/flow_demand.h"
#include "tests/engine/schedule/topologies.h"

namespace hoccl::engine {
namespace {

using namespace literals;

/// Flows between ranks, and what the rails of two nodes count as carried already.
class RailLimitsTest : public testing::Test {
 protected:
  void add(int source, int target, Bytes size) {
    PairFlow flow;
    flow.source = Rank(source);
    flow.target = Rank(target);
    flow.size = size;
    demand_.add(flow);
  }
  std::vector<std::int64_t> already(int source, int target) {
    RailLimits limits(demand_, rails_);
    const auto carried = limits.already_carried(NodeId(source), NodeId(target));
    return {carried.begin(), carried.end()};
  }

  // 4 GPUs per node with a NIC each; NVLink has four times a NIC's rate.
  Topology topology_ = preset_topology("h800-2x4");
  RailMap rails_{topology_};
  FlowDemand demand_{rails_, std::nullopt};
};

TEST_F(RailLimitsTest, NothingIsLimitedWhereNicsAreTheNarrowerPorts) {
  for (int source = 0; source < 8; ++source) {
    for (int target = 0; target < 8; ++target) add(source, target, 10_MiB);
  }
  EXPECT_TRUE(already(0, 1).empty());
  EXPECT_TRUE(already(1, 0).empty());
}

TEST_F(RailLimitsTest, AGpuThatIsBusyWithItsOwnBytesRelaysNothing) {
  add(0, 1, 1_GiB);  // NVLink into GPU 1 for all of the time
  add(2, 4, 100_MiB);
  const std::vector<std::int64_t> carried = already(0, 1);
  ASSERT_EQ(carried.size(), 4U);
  // The other three carry a third each.
  EXPECT_NEAR(static_cast<double>(carried[1]), 1024.0 * 1024.0 * 100.0 / 3.0, 1.0);
  EXPECT_EQ(carried[0], 0);
  EXPECT_EQ(carried[2], 0);
  EXPECT_EQ(carried[3], 0);
}

TEST_F(RailLimitsTest, TheSameHoldsForWhatAGpuSendsWhereTheBytesArrive) {
  add(7, 6, 1_GiB);  // NVLink out of GPU 7
  add(2, 4, 100_MiB);
  const std::vector<std::int64_t> carried = already(0, 1);
  ASSERT_EQ(carried.size(), 4U);
  EXPECT_GT(carried[3], 0);
  EXPECT_EQ(std::ranges::count(carried, 0), 3);
}

TEST_F(RailLimitsTest, AGpuRelaysInTheTimeThatItsOwnBytesLeave) {
  // S bytes into GPU 1; 4 B T leave the node beside them. Were B the only limit, T = 1 s and GPU 1
  // had 0.9 V T - S left for its B T: half of that, by choice of S.
  const double nic = topology_.nics().front().rate.value();
  const double reachable = 0.9 * topology_.nvlink().in.value();
  const Bytes own(static_cast<std::int64_t>(reachable - nic / 2));
  const Bytes leaving(static_cast<std::int64_t>(4 * nic));
  add(0, 1, own);
  add(2, 4, leaving);
  const std::vector<std::int64_t> carried = already(0, 1);
  ASSERT_EQ(carried.size(), 4U);
  // 3 B T + (0.9 V T - S) = 4 B s.
  const double time = (4 * nic + static_cast<double>(own.count())) / (3 * nic + reachable);
  const double left = reachable * time - static_cast<double>(own.count());
  EXPECT_GT(time, 1.0);
  EXPECT_NEAR(static_cast<double>(carried[1]), nic * time - left, 1e-3 * nic);
}

TEST(RailLimits, SkewedPlansAskLessOfTheBusiestPort) {
  const Topology topology = preset_topology("h800-2x8");
  const Rates rates = nominal_rates(topology);
  CompileOptions local;
  local.forwarding = Forwarding::kBalanced;
  local.order = Order::kLocal;
  CompileOptions even = local;
  even.order = Order::kCritical;  // stages take rails for equally loaded
  int shorter = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Pattern pattern =
        all_to_all_v(draw_matrix(MatrixKind::kSparse, topology.rank_count(), 256_MiB, seed), true);
    const Seconds limited = plan_bound(compile(pattern, topology, local), topology, rates).time;
    const Seconds balanced = plan_bound(compile(pattern, topology, even), topology, rates).time;
    // Within 0.9 of NVLink, so that a NIC may carry a little more than it would have to.
    EXPECT_LT(limited, balanced * 1.05) << "seed " << seed;
    EXPECT_GE(limited, pattern_bound(pattern, topology, rates, 0).time);
    if (limited < balanced * 0.98) ++shorter;
  }
  EXPECT_GE(shorter, 8);
}

}  // namespace
}  // namespace hoccl::engine
