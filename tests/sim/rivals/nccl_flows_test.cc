#include "sim/rivals/nccl_flows.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "sim/fabric/sim_fabric.h"
#include "sim/run/nccl_environment_of.h"
#include "tests/sim/rivals/nccl_scenario.h"

namespace hoccl::sim {
namespace {

using engine::Bytes;
using engine::GpuId;
using engine::Rank;
using engine::Region;
using engine::Seconds;
using engine::SendRecvRequest;
using engine::StreamId;
using namespace engine::literals;

Region of(Bytes size) { return {.buffer = {}, .offset = {}, .size = size}; }

/// Two servers with one group over all ranks; launches cost nothing, so that times are kernels'.
class NcclFlowsTest : public testing::Test {
 protected:
  /// SMs of each GPU; before begin().
  int capacity_ = 132;

  /// The machine: after simulations of other processes, because a process has one.
  void begin() {
    calibration_.set("nccl.kernel_launch=0us");
    fabric_ = std::make_unique<SimFabric>(topology_, calibration_, SimOptions{});
    sms_ = std::make_unique<SmPool>(topology_.gpu_count());
    flows_ = std::make_unique<NcclFlows>(
        nccl_environment_of(*fabric_, calibration_.nccl, Seconds(0.0)), *sms_,
        [this](Rank rank) -> SimPort& { return fabric_->sim_port(rank); }, capacity_);
  }
  NcclFlowRank member(int rank, int channels, const std::vector<Rank>& members) {
    return {*flows_,
            {.id = 1, .members = members, .traffic = TrafficClass::kData, .channels = channels},
            Rank(rank)};
  }
  static std::vector<Rank> ranks(int count) {
    std::vector<Rank> all;
    for (int rank = 0; rank < count; ++rank) all.emplace_back(rank);
    return all;
  }
  Seconds send(int source, int target, int channels, Bytes size) {
    const std::vector<Rank> all = ranks(16);
    const SendRecvRequest sends{SendRecvRequest::Side::kSend, Rank(target), of(size)};
    const SendRecvRequest receives{SendRecvRequest::Side::kReceive, Rank(source), of(size)};
    member(source, channels, all).enqueue({&sends, 1}, StreamId(0));
    member(target, channels, all).enqueue({&receives, 1}, StreamId(0));
    fabric_->run();
    EXPECT_TRUE(flows_->is_quiescent());
    return fabric_->now();
  }

  Calibration calibration_ = resolve_calibration("h800");
  const engine::Topology topology_ = engine::preset_topology("h800-2x8");
  std::unique_ptr<SimFabric> fabric_;
  std::unique_ptr<SmPool> sms_;
  std::unique_ptr<NcclFlows> flows_;
};

/// The same by the model of NCCL's slices.
Seconds by_slices(const NcclCase& values, Bytes size) { return simulated(values, size).time; }

TEST_F(NcclFlowsTest, AMessageInANodeTakesWhatItsSlicesTake) {
  const Seconds fine = by_slices({.channels = 4, .source = 0, .target = 1}, 256_MiB);
  begin();
  EXPECT_NEAR(send(0, 1, 4, 256_MiB) / fine, 1.0, 0.03);
}

TEST_F(NcclFlowsTest, AMessageBetweenNodesTakesWhatItsSlicesTake) {
  const Seconds fine = by_slices({.channels = 4, .source = 0, .target = 8}, 256_MiB);
  begin();
  EXPECT_NEAR(send(0, 8, 4, 256_MiB) / fine, 1.0, 0.03);
}

TEST_F(NcclFlowsTest, ARingTakesWhatItsSlicesTake) {
  const Seconds fine = by_slices({.channels = 8, .pattern = "allgather"}, 256_MiB);
  begin();
  for (const Rank rank : ranks(16)) {
    member(rank.value(), 8, ranks(16))
        .enqueue({.pattern = {.name = "allgather", .size = 256_MiB}}, StreamId(0));
  }
  fabric_->run();
  EXPECT_NEAR(fabric_->now() / fine, 1.0, 0.05);
  EXPECT_EQ(flows_->moved(GpuId(3)), 256_MiB / 16 * 15 * 2);
}

TEST_F(NcclFlowsTest, AnAllToAllTakesWhatItsSlicesTake) {
  const Seconds fine = by_slices({.channels = 2, .pattern = "alltoall"}, 256_MiB);
  begin();
  for (const Rank rank : ranks(16)) {
    member(rank.value(), 2, ranks(16))
        .enqueue({.pattern = {.name = "alltoall", .size = 256_MiB, .in_place = true}}, StreamId(0));
  }
  fabric_->run();
  // One flow per message from start to end, where NCCL takes turns.
  EXPECT_NEAR(fabric_->now() / fine, 1.0, 0.25);
}

TEST_F(NcclFlowsTest, MessagesOfAKernelShareItsChannels) {
  begin();
  const std::vector<Rank> all = ranks(16);
  const auto message = [](SendRecvRequest::Side side, int peer) {
    return SendRecvRequest{side, Rank(peer), of(64_MiB)};
  };
  using Side = SendRecvRequest::Side;
  const std::vector sends = {message(Side::kSend, 1), message(Side::kSend, 2)};
  const SendRecvRequest receives = message(Side::kReceive, 0);
  member(0, 1, all).enqueue(sends, StreamId(0));
  member(1, 1, all).enqueue({&receives, 1}, StreamId(0));
  member(2, 1, all).enqueue({&receives, 1}, StreamId(0));
  fabric_->run();
  const NcclConstants& nccl = calibration_.nccl;
  const Seconds slices =
      static_cast<double>(128_MiB / nccl.nvlink_step) * slice_time(nccl, nccl.nvlink_step);
  EXPECT_NEAR((fabric_->now() - nccl.kernel_start) / slices, 1.0, 1e-6);
}

TEST_F(NcclFlowsTest, AKernelWaitsForSmsThatOthersHold) {
  capacity_ = 10;
  begin();
  const std::vector<Rank> pair = {Rank(0), Rank(1)};
  for (const int stream : {0, 1}) {
    for (const Rank rank : pair) {
      NcclFlowRank one(
          *flows_, {.id = stream, .members = pair, .traffic = TrafficClass::kData, .channels = 6},
          rank);
      one.all_reduce(64_MiB, StreamId(stream));
    }
  }
  fabric_->run_until(Seconds(1e-4));
  EXPECT_EQ(sms_->held(GpuId(0)), 6);
  fabric_->run();
  EXPECT_EQ(sms_->peak(), 6);
  EXPECT_TRUE(flows_->is_quiescent());
}

TEST_F(NcclFlowsTest, ReductionsMoveAsMuchAsNcclDoes) {
  begin();
  const std::vector<Rank> members = {Rank(0), Rank(2), Rank(5), Rank(7)};
  for (const Rank rank : members) {
    NcclFlowRank one = member(rank.value(), 4, members);
    one.reduce_scatter(64_MiB, StreamId(0));
    one.all_reduce(64_MiB, StreamId(0));
  }
  fabric_->run();
  // A reduce-scatter sends all blocks but the own one, an all-reduce twice as much.
  EXPECT_EQ(flows_->moved(GpuId(2)), 2 * (64_MiB / 4 * 3 + 64_MiB / 4 * 6));
}

TEST_F(NcclFlowsTest, AKernelHoldsItsSmsWhileItWaitsForItsPeer) {
  begin();
  const std::vector<Rank> all = ranks(16);
  const SendRecvRequest sends{SendRecvRequest::Side::kSend, Rank(1), of(1_MiB)};
  const SendRecvRequest receives{SendRecvRequest::Side::kReceive, Rank(0), of(1_MiB)};
  member(0, 6, all).enqueue({&sends, 1}, StreamId(0));
  fabric_->run_until(Seconds(1e-3));
  EXPECT_EQ(sms_->held(GpuId(0), TrafficClass::kData), 6);
  EXPECT_EQ(sms_->held(GpuId(1)), 0);
  member(1, 6, all).enqueue({&receives, 1}, StreamId(0));
  fabric_->run();
  EXPECT_EQ(sms_->held(GpuId(0)), 0);
  EXPECT_GT(fabric_->now(), Seconds(1e-3) + 1_MiB / calibration_.rates(topology_).nvlink);
}

TEST_F(NcclFlowsTest, MessagesOfAPairMatchInTheirOrder) {
  begin();
  const std::vector<Rank> all = ranks(16);
  for (const Bytes size : {1_MiB, 2_MiB}) {
    const SendRecvRequest sends{SendRecvRequest::Side::kSend, Rank(1), of(size)};
    const SendRecvRequest receives{SendRecvRequest::Side::kReceive, Rank(0), of(size)};
    // On streams of their own: both wait, and the first is served first.
    member(0, 1, all).enqueue({&sends, 1}, StreamId(static_cast<int>(size / 1_MiB)));
    member(1, 1, all).enqueue({&receives, 1}, StreamId(static_cast<int>(size / 1_MiB)));
  }
  fabric_->run();
  EXPECT_TRUE(flows_->is_quiescent());
  EXPECT_EQ(flows_->moved(GpuId(0)), 3_MiB);
}

}  // namespace
}  // namespace hoccl::sim
