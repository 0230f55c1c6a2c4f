#include "sim/rivals/nccl_ring.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <vector>

#include "sim/fabric/sim_fabric.h"
#include "sim/rivals/nccl_rank.h"
#include "sim/run/nccl_environment_of.h"
#include "tests/sim/rivals/nccl_scenario.h"

namespace hoccl::sim {
namespace {

using engine::Bytes;
using engine::Rank;
using engine::Seconds;
using engine::StreamId;
using namespace engine::literals;

Scenario on(const char* topology, int channels, const char* pattern) {
  Scenario scenario = nccl_scenario({.channels = channels, .pattern = pattern});
  scenario.topology = engine::preset_topology(topology);
  return scenario;
}

/// Every rank of a node passes on `loops` slices per channel, `steps` times each.
Seconds in_step(std::int64_t loops, int steps) {
  const NcclConstants& nccl = kH800.nccl;
  return nccl.kernel_start +
         static_cast<double>(loops * steps) * slice_time(nccl, nccl.nvlink_step);
}

TEST(NcclRing, AllGatherOfANodeTakesAStepPerRankAndSlice) {
  const std::int64_t slices = 6;
  for (const int channels : {1, 4}) {
    const Bytes size = kH800.nccl.nvlink_step * slices * channels * 8;
    const RunResult result = simulated(on("h800-1x8", channels, "allgather"), size);
    EXPECT_NEAR(result.time / in_step(slices, 8), 1.0, kRounding);
    EXPECT_EQ(result.sms, channels);
    EXPECT_EQ(result.link_bytes->nvlink, size * 7);
    EXPECT_EQ(result.link_bytes->nic, 0_B);
  }
}

TEST(NcclRing, BroadcastRunsThroughTheChain) {
  const std::int64_t slices = 20;
  const Bytes size = kH800.nccl.nvlink_step * slices;
  Scenario scenario = on("h800-1x8", 1, "broadcast");
  scenario.traffic.request.root = Rank(3);
  const RunResult result = simulated(scenario, size);
  // The last of eight begins seven slices later.
  EXPECT_NEAR(result.time / in_step(slices + 7, 1), 1.0, kRounding);
  EXPECT_EQ(result.link_bytes->nvlink, size * 7);
}

TEST(NcclRing, CrossesEachNodeOnce) {
  const Bytes size = 64_MiB;
  const RunResult result = simulated(on("h800-2x8", 4, "allgather"), size);
  const Bytes per_hop = size / 16 * 15;
  EXPECT_EQ(result.link_bytes->nic, per_hop * 2);
  EXPECT_EQ(result.link_bytes->nvlink, per_hop * 14);
}

TEST(NcclRing, OneNicBoundsItAndEightDoNot) {
  Scenario scenario = on("h800-2x8", 8, "allgather");
  const auto nic = kH800.rates(scenario.topology).nic;
  const RunResult one = simulated(scenario, 1_GiB);
  EXPECT_GT(one.busbw / nic, 0.97);
  EXPECT_LE(one.busbw / nic, 1.0);
  scenario.compile.nics = 8;
  const RunResult eight = simulated(scenario, 1_GiB);
  EXPECT_GT(eight.busbw / one.busbw, 2.5);
  EXPECT_EQ(eight.link_bytes->nic, one.link_bytes->nic);
}

/// What the training model calls; no pattern of ours has it.
class NcclReductions : public testing::Test {
 protected:
  NcclReductions() {
    calibration_.set("nccl.kernel_launch=0us");
    fabric_ = std::make_unique<SimFabric>(topology_, calibration_, SimOptions{});
    job_ = std::make_unique<NcclJob>(nccl_environment_of(*fabric_, calibration_.nccl),
                                     NcclOptions{.channels = 1});
    for (int rank = 0; rank < topology_.rank_count(); ++rank) {
      ranks_.push_back(std::make_unique<NcclRank>(*job_, Rank(rank)));
      members_.emplace_back(rank);
    }
  }
  Bytes sent_by(int gpu) const {
    return fabric_->network().carried(fabric_->links().nvlink_out(gpu));
  }

  Calibration calibration_ = resolve_calibration("h800");
  const engine::Topology topology_ = engine::preset_topology("h800-1x8");
  std::unique_ptr<SimFabric> fabric_;
  std::unique_ptr<NcclJob> job_;
  std::vector<std::unique_ptr<NcclRank>> ranks_;
  std::vector<Rank> members_;
};

TEST_F(NcclReductions, ReduceScatterTakesAsLongAsAnAllGather) {
  const std::int64_t slices = 5;
  const Bytes block = calibration_.nccl.nvlink_step * slices;
  for (const auto& rank : ranks_) rank->reduce_scatter(block, members_, StreamId(0));
  fabric_->run();
  EXPECT_NEAR(fabric_->now() / in_step(slices, 8), 1.0, kRounding);
  for (int gpu = 0; gpu < 8; ++gpu) EXPECT_EQ(sent_by(gpu), block * 7);
}

TEST_F(NcclReductions, AllReduceGoesRoundTwiceLessOneStep) {
  const std::int64_t slices = 3;
  const Bytes block = calibration_.nccl.nvlink_step * slices;
  for (const auto& rank : ranks_) rank->all_reduce(block * 8, members_, StreamId(0));
  fabric_->run();
  EXPECT_NEAR(fabric_->now() / in_step(slices, 15), 1.0, kRounding);
  for (int gpu = 0; gpu < 8; ++gpu) EXPECT_EQ(sent_by(gpu), block * 14);
}

TEST_F(NcclReductions, OnSomeRanksOnly) {
  const std::vector<Rank> members = {Rank(1), Rank(4), Rank(6)};
  const Bytes block = calibration_.nccl.nvlink_step;
  for (const Rank rank : members) ranks_[rank.index()]->all_reduce(block * 3, members, StreamId(0));
  fabric_->run();
  EXPECT_NEAR(fabric_->now() / in_step(1, 5), 1.0, kRounding);
  EXPECT_EQ(sent_by(1), block * 4);
  EXPECT_EQ(sent_by(0), 0_B);
}

}  // namespace
}  // namespace hoccl::sim
