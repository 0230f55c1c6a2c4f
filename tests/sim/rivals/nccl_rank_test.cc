#include "sim/rivals/nccl_rank.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "engine/base/config_error.h"
#include "engine/base/random.h"
#include "sim/fabric/sim_fabric.h"
#include "sim/rivals/nccl_channels.h"
#include "sim/rivals/nccl_requirements.h"
#include "sim/run/nccl_environment_of.h"
#include "tests/sim/rivals/nccl_scenario.h"

namespace hoccl::sim {
namespace {

using engine::Bytes;
using engine::ConfigError;
using engine::GpuId;
using engine::Rank;
using engine::Seconds;
using engine::SendRecvRequest;
using engine::StreamId;
using namespace engine::literals;

/// One server whose ranks are called by hand. Launching costs no time here.
class NcclByHand : public testing::Test {
 protected:
  void start(int channels, const std::vector<std::string>& settings = {}) {
    calibration_ = resolve_calibration("h800");
    calibration_.set("nccl.kernel_launch=0us");
    for (const std::string& each : settings) calibration_.set(each);
    fabric_ = std::make_unique<SimFabric>(topology_, calibration_, SimOptions{});
    job_ = std::make_unique<NcclJob>(nccl_environment_of(*fabric_, calibration_.nccl),
                                     NcclOptions{.channels = channels});
    for (int rank = 0; rank < topology_.rank_count(); ++rank) {
      ranks_.push_back(std::make_unique<NcclRank>(*job_, Rank(rank)));
    }
  }

  std::shared_ptr<engine::Work> send(int rank, int peer, Bytes size, int stream = 0) {
    return enqueue(rank, SendRecvRequest::Side::kSend, peer, size, stream);
  }
  std::shared_ptr<engine::Work> receive(int rank, int peer, Bytes size, int stream = 0) {
    return enqueue(rank, SendRecvRequest::Side::kReceive, peer, size, stream);
  }
  std::shared_ptr<engine::Work> enqueue(int rank, SendRecvRequest::Side side, int peer, Bytes size,
                                        int stream) {
    const SendRecvRequest request{.side = side, .peer = Rank(peer), .buffer = {{}, {}, size}};
    return ranks_[static_cast<std::size_t>(rank)]->enqueue({&request, 1}, StreamId(stream));
  }

  Seconds slice() const { return slice_time(calibration_.nccl, calibration_.nccl.nvlink_step); }
  Bytes step() const { return calibration_.nccl.nvlink_step; }
  int held(int gpu) { return job_->sms().held(GpuId(gpu)); }

  const engine::Topology topology_ = engine::preset_topology("h800-1x8");
  Calibration calibration_;
  std::unique_ptr<SimFabric> fabric_;
  std::unique_ptr<NcclJob> job_;
  std::vector<std::unique_ptr<NcclRank>> ranks_;
};

TEST_F(NcclByHand, HoldsSmsFromTheKernelsStartToItsEnd) {
  start(4);
  const auto sent = send(0, 1, step() * 40);
  const auto received = receive(1, 0, step() * 40);
  const Seconds begin = calibration_.nccl.kernel_start;
  fabric_->run_until(begin - Seconds(1e-9));
  EXPECT_EQ(held(0), 0);
  fabric_->run_until(begin + Seconds(1e-9));
  EXPECT_EQ(held(0), 4);
  EXPECT_EQ(held(1), 4);
  // Ten slices per channel: the sender is through, the receiver has one to go.
  fabric_->run_until(begin + 10 * slice() + Seconds(1e-9));
  EXPECT_EQ(held(0), 0);
  EXPECT_EQ(held(1), 4);
  EXPECT_TRUE(sent->status().has_value());
  EXPECT_FALSE(received->status().has_value());
  fabric_->run();
  EXPECT_EQ(held(1), 0);
  EXPECT_TRUE(received->status()->ok());
}

TEST_F(NcclByHand, SenderRunsAheadByTheFifoAndNoFurther) {
  start(1);
  const std::int64_t slots = calibration_.nccl.fifo_slots;
  const auto fits = send(0, 1, step() * slots);
  const auto waits = send(2, 3, step() * (slots + 1));
  fabric_->run();
  EXPECT_TRUE(fits->status().has_value());
  EXPECT_FALSE(waits->status().has_value());
  EXPECT_EQ(held(2), 1) << "it polls for a slot";
  const auto received = receive(3, 2, step() * (slots + 1));
  fabric_->run();
  EXPECT_TRUE(waits->status().has_value());
  EXPECT_TRUE(received->status().has_value());
}

TEST_F(NcclByHand, TwoTransfersShareTheReceiversLink) {
  start(8, {"nccl.step_overhead=0us"});
  const std::int64_t slices = 32;  // per channel
  const Bytes size = step() * 8 * slices;
  std::vector<std::shared_ptr<engine::Work>> works;
  for (const int source : {0, 1}) works.push_back(send(source, 2, size));
  // Both receives in one kernel: as two, the second would wait for the first.
  const std::vector<SendRecvRequest> group = {
      {.side = SendRecvRequest::Side::kReceive, .peer = Rank(0), .buffer = {{}, {}, size}},
      {.side = SendRecvRequest::Side::kReceive, .peer = Rank(1), .buffer = {{}, {}, size}}};
  works.push_back(ranks_[2]->enqueue(group, StreamId(0)));
  const auto link = calibration_.rates(topology_).nvlink;
  ASSERT_GT(calibration_.nccl.channel_copy_rate * 16, link);
  fabric_->run_until(calibration_.nccl.kernel_start + size * 2 / link - Seconds(1e-9));
  EXPECT_FALSE(works[0]->status().has_value());
  EXPECT_FALSE(works[1]->status().has_value());
  fabric_->run_until(calibration_.nccl.kernel_start + size * 2 / link + Seconds(1e-9));
  EXPECT_TRUE(works[0]->status().has_value());
  EXPECT_TRUE(works[1]->status().has_value());
  fabric_->run();
  EXPECT_TRUE(works[2]->status().has_value());
}

TEST_F(NcclByHand, KernelsOfARankRunInTheOrderOfTheirLaunch) {
  start(2);
  const auto first = send(0, 1, step() * 100, 0);
  const auto second = send(0, 2, step(), 1);
  const auto other = receive(2, 0, step());
  fabric_->run();
  EXPECT_FALSE(second->status().has_value()) << "the first still waits for its receiver";
  receive(1, 0, step() * 100);
  fabric_->run();
  EXPECT_TRUE(first->status().has_value());
  EXPECT_TRUE(second->status().has_value());
  EXPECT_TRUE(other->status().has_value());
}

TEST_F(NcclByHand, TransfersOfAPairMatchInOrder) {
  start(2);
  const std::vector<Bytes> sizes = {3_MiB, 1_B, 700_KiB, 8_MiB};
  std::vector<std::shared_ptr<engine::Work>> works;
  for (const Bytes size : sizes) works.push_back(send(0, 1, size));
  for (const Bytes size : sizes) works.push_back(receive(1, 0, size));
  fabric_->run();
  for (const auto& work : works) EXPECT_TRUE(work->status().has_value());
}

TEST_F(NcclByHand, ManyMessagesBothWaysInOneGroupDoNotWaitForEachOther) {
  start(2);
  using Side = SendRecvRequest::Side;
  std::vector<std::shared_ptr<engine::Work>> works;
  for (const int rank : {0, 1}) {
    std::vector<SendRecvRequest> group;
    for (const Side side : {Side::kSend, Side::kReceive}) {
      for (int i = 0; i < 5; ++i) {
        group.push_back({.side = side, .peer = Rank(1 - rank), .buffer = {{}, {}, step() * 100}});
      }
    }
    works.push_back(ranks_[static_cast<std::size_t>(rank)]->enqueue(group, StreamId(0)));
  }
  fabric_->run();
  for (const auto& work : works) EXPECT_TRUE(work->status().has_value());
}

TEST_F(NcclByHand, EmptyMessageStillLaunchesAKernel) {
  start(8);
  const auto sent = send(0, 1, 0_B);
  fabric_->run_until(calibration_.nccl.kernel_start - Seconds(1e-9));
  EXPECT_FALSE(sent->status().has_value());
  fabric_->run();
  EXPECT_TRUE(sent->status().has_value());
}

TEST(NcclSplit, CoversTheMessage) {
  const engine::Topology topology = engine::preset_topology("h800-2x8");
  const NcclConstants nccl = resolve_calibration("h800").nccl;
  engine::Random random(1);
  for (int i = 0; i < 1000; ++i) {
    const Bytes size(random.between(0, std::int64_t{1} << random.between(1, 34)));
    const int limit = static_cast<int>(random.between(1, 64));
    const Rank source(random.between(0, 15));
    const Rank target((source.value() + random.between(1, 15)) % 16);
    const std::vector<Bytes> parts =
        split_over_channels(topology, nccl, limit, source, target, size);
    Bytes sum;
    for (const Bytes part : parts) {
      EXPECT_GE(part, Bytes(0));
      sum += part;
    }
    EXPECT_EQ(sum, size);
    EXPECT_LE(parts.size(), static_cast<std::size_t>(limit));
  }
}

TEST(NcclName, IsReadStrictly) {
  EXPECT_EQ(parse_nccl_channels("nccl:1sm"), 1);
  EXPECT_EQ(parse_nccl_channels("nccl:64sm"), 64);
  for (const char* wrong : {"nccl:0sm", "nccl:65sm", "nccl:sm", "nccl:8", "nccl:-1sm", "nccl:8 sm",
                            "nccl:08.0sm", "nccl:99999999999sm", "nccl:"}) {
    EXPECT_THROW(parse_nccl_channels(wrong), ConfigError) << wrong;
  }
}

TEST(NcclTopology, RefusesWhereNcclDoesNotRun) {
  EXPECT_NO_THROW(require_nccl_topology(engine::preset_topology("h800-2x8")));
  EXPECT_THROW(require_nccl_topology(engine::preset_topology("h200-1x1")), ConfigError);
}

}  // namespace
}  // namespace hoccl::sim
