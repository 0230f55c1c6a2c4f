// Collectives that NCCL makes of sends and receives.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "engine/traffic.h"
#include "tests/sim/rivals/nccl_scenario.h"

namespace hoccl::sim {
namespace {

using engine::Bytes;
using engine::Flow;
using engine::Rank;
using engine::Seconds;
using engine::Topology;
using namespace engine::literals;

Scenario scenario_of(const char* topology, int channels, const char* pattern, bool pxn) {
  Scenario scenario = nccl_scenario({.channels = channels, .pattern = pattern});
  scenario.topology = engine::preset_topology(topology);
  scenario.pxn = pxn;
  return scenario;
}

struct Case {
  const char* topology;
  const char* pattern;
  int channels;
  bool pxn;
};

class NcclGroup : public testing::TestWithParam<Case> {};

/// Bytes that the algorithm takes over NVLink and over NICs.
engine::LinkBytes expected_bytes(const Scenario& scenario, Bytes size) {
  const Topology& topology = scenario.topology;
  engine::LinkBytes bytes;
  for (const Flow& flow : engine::pattern_of(scenario.traffic, size, topology.rank_count()).flows) {
    if (flow.source == flow.target) continue;
    if (topology.node_of(flow.source) == topology.node_of(flow.target)) {
      bytes.nvlink += flow.size;
      continue;
    }
    bytes.nic += flow.size;
    const bool same_rail = topology.local_index(flow.source) == topology.local_index(flow.target);
    if (scenario.pxn && !same_rail) bytes.nvlink += flow.size;
  }
  return bytes;
}

TEST_P(NcclGroup, MovesEveryByteOnceOverTheLinksThatItSays) {
  const Case& values = GetParam();
  Scenario scenario = scenario_of(values.topology, values.channels, values.pattern, values.pxn);
  scenario.traffic.request.matrix = engine::MatrixKind::kZipf;
  const RunResult result = simulated(scenario, 8_MiB);
  const engine::LinkBytes expected = expected_bytes(scenario, 8_MiB);
  EXPECT_EQ(result.link_bytes->nvlink, expected.nvlink);
  EXPECT_EQ(result.link_bytes->nic, expected.nic);
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const char* topology : {"h800-1x8", "h800-2x8", "h800-3x4"}) {
    for (const char* pattern : {"alltoall", "alltoallv", "gather", "scatter", "sendrecv-ring"}) {
      for (const int channels : {1, 4, 8}) {
        for (const bool pxn : {true, false}) all.push_back({topology, pattern, channels, pxn});
      }
    }
  }
  return all;
}
INSTANTIATE_TEST_SUITE_P(All, NcclGroup, testing::ValuesIn(cases()));

TEST(NcclAllToAll, OfOneChannelInANodeIsOneCopyLoop) {
  // Seven messages of two slices each, all in one batch of rounds, and none to oneself.
  const NcclConstants& nccl = kH800.nccl;
  Scenario scenario = scenario_of("h800-1x8", 1, "alltoall", true);
  scenario.traffic.request.in_place = true;
  const RunResult result = simulated(scenario, nccl.nvlink_step * 2 * 8);
  const Seconds sending = nccl.kernel_start + 14 * slice_time(nccl, nccl.nvlink_step);
  EXPECT_NEAR(result.time / (sending + slice_time(nccl, nccl.nvlink_step)), 1.0, kRounding);
}

TEST(NcclAllToAll, NodesComeOneAfterTheOther) {
  // 4 SMs: first what stays on the node, at the channels' rate, then what leaves, at the NIC's.
  const NcclConstants& nccl = kH800.nccl;
  Scenario scenario = scenario_of("h800-2x8", 4, "alltoall", true);
  scenario.traffic.request.in_place = true;
  const RunResult result = simulated(scenario, 1_GiB);
  const Bytes peer = 1_GiB / 16;
  const auto slices =
      static_cast<double>(7 * peer.count() / 4) / static_cast<double>(nccl.nvlink_step.count());
  const Seconds near = slices * slice_time(nccl, nccl.nvlink_step);
  const Seconds far = 8 * peer / kH800.rates(scenario.topology).nic;
  EXPECT_NEAR(result.time / (near + far), 1.0, 0.01);
}

TEST(NcclAllToAll, PxnSpreadsOneSendersMessagesOverTheRails) {
  // From one rank to all of another node: through one NIC, or through all eight, and then the four
  // channels that all those rounds share are what bounds it.
  const NcclConstants& nccl = kH800.nccl;
  Scenario scenario = scenario_of("h800-2x8", 8, "alltoallv", true);
  auto matrix = std::make_shared<engine::TrafficMatrix>(engine::TrafficMatrix::Zero(16, 16));
  for (int target = 8; target < 16; ++target) (*matrix)(0, target) = (64_MiB).count();
  scenario.traffic.matrix = matrix;
  const Seconds with = simulated(scenario, 0_B).time;
  const auto steps = static_cast<double>(8 * 64_MiB / 4 / nccl.net_step);
  EXPECT_NEAR(with / (steps * slice_time(nccl, nccl.net_step)), 1.0, 0.01);
  scenario.pxn = false;
  const Seconds without = simulated(scenario, 0_B).time;
  EXPECT_NEAR(without / (8 * 64_MiB / kH800.rates(scenario.topology).nic), 1.0, 0.01);
  EXPECT_LT(with, without);
}

}  // namespace
}  // namespace hoccl::sim
