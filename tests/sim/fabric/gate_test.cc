#include <gtest/gtest.h>

#include "tests/sim/fabric/fixture.h"

namespace hoccl::sim {
namespace {

using engine::ForegroundChanged;
using engine::Gate;
using engine::GateReached;
using engine::Rank;
using engine::Seconds;
using engine::StreamId;
using namespace engine::literals;

constexpr StreamId kStream{4};
constexpr Gate kGate{.communicator = 0, .stream = kStream};

using Gates = HandDriven;

TEST_F(Gates, TheProxySeesTheStreamsWriteAfterTheCallAndTheReadyLatency) {
  start("h800-1x8");
  port(0).enqueue_ready(kGate, 5);
  expect_seen_at<GateReached>(0, constants_.cpu.enqueue_ready + constants_.gate.ready_latency);
  EXPECT_EQ(fabric_->launch_time(Rank(0)), constants_.cpu.enqueue_ready);
}

TEST_F(Gates, AReadyWaitsForTheKernelBeforeIt) {
  start("h800-1x8");
  fabric_->enqueue_kernel(Rank(0), kStream, 50_us);
  port(0).enqueue_ready(kGate, 1);
  expect_seen_at<GateReached>(
      0, constants_.nccl.kernel_launch + 50_us + constants_.gate.ready_latency);
}

TEST_F(Gates, AnOpenedGateLetsTheStreamGoOnAfterTheResumeLatency) {
  start("h800-1x8");
  port(0).enqueue_wait(kGate, 2);
  fabric_->enqueue_kernel(Rank(0), kStream, 10_us);
  fabric_->run_until(100_us);
  port(0).open_gate(kGate, 1);  // not far enough
  fabric_->run_until(200_us);
  EXPECT_EQ(fabric_->stream_idle_since(Rank(0), kStream), Seconds(0.0));
  port(0).open_gate(kGate, 2);
  fabric_->run();
  const Seconds resumed = 200_us + constants_.cpu.open_gate + constants_.gate.resume_latency;
  EXPECT_NEAR(fabric_->stream_idle_since(Rank(0), kStream) / (resumed + 10_us), 1.0, kRounding);

  const std::vector<engine::TraceEvent> waits = events("gate_wait");
  ASSERT_EQ(waits.size(), 1U);
  EXPECT_NEAR(waits[0].begin / constants_.cpu.enqueue_wait, 1.0, kRounding);
  EXPECT_NEAR(waits[0].end / resumed, 1.0, kRounding);
  EXPECT_EQ(events("kernel").size(), 1U);
}

TEST_F(Gates, StreamsOfOneRankDoNotWaitForEachOther) {
  start("h800-1x8");
  constexpr Gate kOther{.communicator = 0, .stream = StreamId(5)};
  port(0).enqueue_wait(kGate, 1);
  port(0).enqueue_ready(kOther, 1);
  fabric_->run();
  const std::vector<GateReached> reached = seen<GateReached>(0);
  ASSERT_EQ(reached.size(), 1U);
  EXPECT_EQ(reached[0].gate, kOther);
}

TEST_F(Gates, CallsOfTheApplicationTakeItsTimeOneAfterTheOther) {
  start("h800-1x8");
  port(0).enqueue_ready(kGate, 1);
  port(0).submit(nullptr);
  const Seconds sent = constants_.cpu.enqueue_ready + constants_.cpu.submit;
  EXPECT_EQ(port(0).now(), sent);
  expect_seen_at<engine::Submitted>(0, sent + constants_.message.local_latency);
}

TEST_F(Gates, ForegroundWorkIsToldToEveryRankOfTheDeviceOnly) {
  start("h200-1x1");
  port(0).enqueue_foreground(kStream, true);
  port(1).enqueue_foreground(kStream, true);
  fabric_->run();
  EXPECT_EQ(seen<ForegroundChanged>(0).size(), 1U);
  EXPECT_EQ(seen<ForegroundChanged>(1).size(), 1U);
  port(0).enqueue_foreground(kStream, false);  // rank 1's work goes on
  fabric_->run();
  EXPECT_TRUE(seen<ForegroundChanged>(0).empty());
  port(1).enqueue_foreground(kStream, false);
  fabric_->run();
  const std::vector<ForegroundChanged> ended = seen<ForegroundChanged>(0);
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_FALSE(ended[0].active);
}

TEST_F(Gates, ForegroundWorkOfAnotherDeviceIsNotTold) {
  start("h800-1x8");
  port(0).enqueue_foreground(kStream, true);
  fabric_->run();
  EXPECT_EQ(seen<ForegroundChanged>(0).size(), 1U);
  EXPECT_TRUE(seen<ForegroundChanged>(1).empty());
}

TEST_F(Gates, TheStatusOfFinishedWorkCanBeQueried) {
  start("h800-1x8");
  constexpr engine::WorkId kWork{3};
  EXPECT_FALSE(port(0).query(kWork).has_value());
  engine::Status status;
  status.cause = engine::Cause::kTimeout;
  status.rank = Rank(2);
  EXPECT_FALSE(fabric_->finished_at(Rank(0)).has_value());
  port(0).finish(kWork, status);
  EXPECT_EQ(fabric_->finished_at(Rank(0)), constants_.cpu.finish);
  ASSERT_TRUE(port(0).query(kWork).has_value());
  EXPECT_EQ(port(0).query(kWork)->rank, Rank(2));
  EXPECT_EQ(port(0).finish_time(kWork), constants_.cpu.finish);
}

}  // namespace
}  // namespace hoccl::sim
