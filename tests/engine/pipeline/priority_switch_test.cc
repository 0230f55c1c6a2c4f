#include <gtest/gtest.h>

#include <memory>

#include "engine/pipeline/command.h"
#include "engine/pipeline/messages.h"
#include "engine/pipeline/proxy.h"
#include "tests/engine/pipeline/scripted_port.h"

namespace hoccl::engine {
namespace {

/// Rank 0 sends four chunks to its neighbour; the test plays the neighbour and the fabric.
class PrioritySwitchTest : public ::testing::Test {
 protected:
  void send(FlowClass flow_class) {
    Transfer transfer;
    transfer.source = Rank(0);
    transfer.target = Rank(1);
    transfer.size = Bytes(4096);
    transfer.flow_class = flow_class;
    Plan plan;
    plan.chunk_size = Bytes(1024);
    plan.transfers.push_back(transfer);
    Operation operation;
    operation.id = {1, 0, 1, 0, 0};
    operation.plan = std::make_shared<Plan>(plan);
    operation.send_buffer = {{Rank(0), 1}, Bytes(0), Bytes(4096)};
    SubmitGroup group;
    group.gate = {1, StreamId(0)};
    group.sequence = 1;
    group.work = WorkId(1);
    group.operations.push_back(operation);
    port_.inbox.emplace_back(Submitted{std::make_shared<Command>(Command{group})});
    port_.inbox.emplace_back(GateReached{group.gate, 1});
    ReadyMessage ready;
    ready.operation = operation.id;
    ready.exported = 1;
    ready.buffer = {Rank(1), 2};
    port_.inbox.emplace_back(MessageArrived{Rank(1), pack(ready)});
  }

  void run() {
    while (!port_.inbox.empty()) proxy_.step();
  }

  ScriptedPort port_;
  Proxy proxy_{port_, PipelineOptions{}};
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

}  // namespace
}  // namespace hoccl::engine
