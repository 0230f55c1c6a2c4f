#include <gtest/gtest.h>

#include <iterator>
#include <memory>
#include <optional>

#include "engine/pipeline/command.h"
#include "engine/pipeline/messages.h"
#include "engine/pipeline/proxy.h"
#include "tests/engine/pipeline/scripted_port.h"

namespace hoccl::engine {
namespace {

constexpr Seconds kPatience = PipelineOptions().background_patience;

/// Rank 0 sends four chunks to its neighbour; the test plays the neighbour and the fabric.
class PrioritySwitchTest : public ::testing::Test {
 protected:
  explicit PrioritySwitchTest(const PipelineOptions& options = {}) : proxy_(port_, options) {}

  void send(FlowClass flow_class, std::uint32_t number = 0) {
    Transfer transfer;
    transfer.source = Rank(0);
    transfer.target = Rank(1);
    transfer.size = Bytes(4096);
    transfer.flow_class = flow_class;
    Plan plan;
    plan.chunk_size = Bytes(1024);
    plan.transfers.push_back(transfer);
    Operation operation;
    operation.id = {1, 0, 1, 0, number};
    operation.plan = std::make_shared<Plan>(plan);
    operation.send_buffer = {{Rank(0), 1}, Bytes(0), Bytes(4096)};
    SubmitGroup group;
    group.gate = {1, StreamId(0)};
    group.sequence = number + 1;
    group.work = WorkId(number);
    group.operations.push_back(operation);
    port_.inbox.emplace_back(Submitted{std::make_shared<Command>(Command{group})});
    port_.inbox.emplace_back(GateReached{group.gate, group.sequence});
    ReadyMessage ready;
    ready.operation = operation.id;
    ready.access = BufferAccess::kOpen;
    ready.buffer = {Rank(1), 2};
    port_.inbox.emplace_back(MessageArrived{Rank(1), pack(ready)});
  }

  void run() {
    while (!port_.inbox.empty()) step();
  }
  void step_at(Seconds time) {
    port_.time = time;
    step();
  }
  void step() {
    proxy_.step();
    deadline_ = proxy_.next_deadline();
  }
  void foreground(bool active) { port_.inbox.emplace_back(ForegroundChanged{active}); }
  /// The copies of one lane up to this ticket end.
  void complete(std::uint8_t lane, std::int64_t ticket) {
    port_.inbox.emplace_back(CopiesDone{{CopyClass::kPeer, lane}, Ticket(ticket), Outcome::kOk});
  }

  ScriptedPort port_;
  std::optional<Seconds> deadline_;
  Proxy proxy_;
};

TEST_F(PrioritySwitchTest, NothingOfBackgroundIsPostedWhileForegroundIsActive) {
  port_.inbox.emplace_back(ForegroundChanged{true});
  send(FlowClass::kBackground);
  run();
  EXPECT_TRUE(port_.copies.empty());
  port_.inbox.emplace_back(ForegroundChanged{false});
  run();
  EXPECT_EQ(port_.copies.size(), 4U);
}

TEST_F(PrioritySwitchTest, ForegroundFlowsGoOn) {
  port_.inbox.emplace_back(ForegroundChanged{true});
  send(FlowClass::kForeground);
  run();
  EXPECT_EQ(port_.copies.size(), 4U);
}

TEST_F(PrioritySwitchTest, WhatIsInFlightEnds) {
  send(FlowClass::kBackground);
  run();
  ASSERT_EQ(port_.copies.size(), 4U);
  port_.inbox.emplace_back(ForegroundChanged{true});
  for (std::uint8_t lane = 0; lane < 4; ++lane) {
    port_.inbox.emplace_back(CopiesDone{{CopyClass::kPeer, lane}, Ticket(1), Outcome::kOk});
  }
  run();
  ASSERT_EQ(port_.opened.size(), 1U) << "the operation ended while foreground was active";
  EXPECT_TRUE(proxy_.quiescent());
}

TEST_F(PrioritySwitchTest, OneChunkIsPostedWheneverPatienceEndsAndNoneBefore) {
  foreground(true);
  send(FlowClass::kBackground);
  run();
  for (std::size_t posted = 0; posted < 4; ++posted) {
    const Seconds due = port_.time + kPatience;
    EXPECT_EQ(deadline_, due) << "the proxy asks to be called when its patience ends";
    step_at(due - Seconds(1e-9));
    EXPECT_EQ(port_.copies.size(), posted);
    step_at(due);
    EXPECT_EQ(port_.copies.size(), posted + 1);
    EXPECT_TRUE(port_.copies.back().flushed);
  }
}

TEST_F(PrioritySwitchTest, TheRestIsPostedAtOnceWhenForegroundEnds) {
  foreground(true);
  send(FlowClass::kBackground);
  run();
  step_at(kPatience);
  ASSERT_EQ(port_.copies.size(), 1U);
  foreground(false);
  step_at(kPatience * 1.01);
  EXPECT_EQ(port_.copies.size(), 4U);
}

TEST_F(PrioritySwitchTest, ForegroundThatPausesTooShortlyToBeSeenDoesNotStarveBackground) {
  foreground(true);
  send(FlowClass::kBackground);
  run();
  const int periods = 1000;
  const Seconds period = kPatience / 250;
  for (int i = 1; i <= periods; ++i) {
    foreground(false);
    foreground(true);
    step_at(period * i);
    EXPECT_EQ(std::ssize(port_.copies), i / 250) << i;
  }
}

TEST_F(PrioritySwitchTest, NoWaitBeginsWhileBackgroundHasNothingToDo) {
  foreground(true);
  step_at(kPatience * 5);
  EXPECT_FALSE(deadline_.has_value());
  send(FlowClass::kBackground);
  run();
  EXPECT_TRUE(port_.copies.empty());
  EXPECT_EQ(deadline_, port_.time + kPatience);
}

class SmallQuantumTest : public PrioritySwitchTest {
 protected:
  SmallQuantumTest() : PrioritySwitchTest(options()) {}
  static PipelineOptions options() {
    PipelineOptions result;
    result.quantum = 1;
    result.streams = 1;
    return result;
  }
};

TEST_F(SmallQuantumTest, BackgroundThatIsDueGoesBeforeForegroundFlowsOnce) {
  send(FlowClass::kForeground, 0);
  send(FlowClass::kBackground, 1);
  run();
  const auto last_operation = [&] { return port_.copies.back().request.tag.operation.number; };
  ASSERT_EQ(port_.copies.size(), 1U);
  // The engine is full: nothing can be posted, so no deadline but the timeout.
  EXPECT_EQ(deadline_, PipelineOptions().timeout);
  complete(0, 1);
  step_at(kPatience * 0.5);
  EXPECT_EQ(last_operation(), 0U);
  complete(0, 2);
  step_at(kPatience);
  EXPECT_EQ(last_operation(), 1U);
  complete(0, 3);
  step_at(kPatience * 1.1);
  EXPECT_EQ(last_operation(), 0U);
  complete(0, 4);
  step_at(kPatience * 1.2);
  EXPECT_EQ(last_operation(), 0U);
  // Foreground has nothing more: background goes on without waiting.
  complete(0, 5);
  step_at(kPatience * 1.3);
  EXPECT_EQ(last_operation(), 1U);
}

TEST_F(SmallQuantumTest, ForegroundGoesOnWhenTheBackgroundThatWasDueHasEnded) {
  foreground(true);
  send(FlowClass::kForeground, 0);
  send(FlowClass::kBackground, 1);
  run();
  ASSERT_EQ(port_.copies.size(), 1U);
  FailedMessage failed;
  failed.cause = Cause::kAborted;
  failed.operation = {1, 0, 1, 0, 1};
  port_.inbox.emplace_back(MessageArrived{Rank(1), pack(failed)});
  complete(0, 1);
  step_at(kPatience * 2);
  EXPECT_EQ(port_.copies.size(), 2U);
}

}  // namespace
}  // namespace hoccl::engine
