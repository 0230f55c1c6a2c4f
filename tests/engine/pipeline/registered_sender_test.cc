#include "engine/pipeline/registered_sender.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <vector>

#include "engine/pipeline/operation_state.h"
#include "tests/engine/pipeline/scripted_port.h"

namespace hoccl::engine {
namespace {

/// Rank 0 of a 2x4 machine sends from its own buffer to ranks 4 to 7 through NIC 0, in chunks of
/// 100 bytes.
class RegisteredSenderTest : public ::testing::Test {
 protected:
  struct Wanted {
    int target = 4;
    int chunks = 1;
    int stage = 0;
    FlowClass flow_class = FlowClass::kForeground;
    std::uint16_t communicator = 0;
    Order order = Order::kCritical;
  };

  /// A flow whose target is ready, of an operation of its own.
  SourceFlow& flow(const Wanted& wanted) {
    Transfer transfer;
    transfer.id = FlowId(0);
    transfer.source = Rank(0);
    transfer.target = Rank(wanted.target);
    transfer.source_offset = Bytes(7);
    transfer.target_offset = Bytes(9);
    transfer.size = kChunk * wanted.chunks;
    transfer.flow_class = wanted.flow_class;
    transfer.route = Route::kRegistered;
    transfer.send_nic = NicId(0);
    transfer.receive_nic = NicId(wanted.target);
    transfer.stage = wanted.stage;
    auto plan = std::make_shared<Plan>();
    plan->chunk_size = kChunk;
    plan->order = wanted.order;
    plan->transfers = {transfer};

    OperationState& state = operations_.emplace_back();
    state.operation.id.communicator = wanted.communicator;
    state.operation.plan = plan;
    state.operation.send_buffer = {{Rank(0), 3}, Bytes(1000), Bytes(100000)};
    SourceFlow& flow = state.sources.emplace_back();
    flow.operation = &state;
    flow.id = FlowId(0);
    flow.transfer = &plan->transfers.front();
    flow.chunks = wanted.chunks;
    flow.target_buffer = {{Rank(wanted.target), 5}, Bytes(2000), Bytes(100000)};
    return flow;
  }

  RegisteredSender& sender() {
    if (!sender_) sender_ = std::make_unique<RegisteredSender>(port_, options_);
    return *sender_;
  }
  void offer(const Wanted& wanted) { sender().offer(flow(wanted)); }

  /// Posts what can be, every flow offering its next chunk at once; the targets, in order.
  std::vector<int> posted_to() {
    const std::size_t before = port_.writes.size();
    sender().act([this](SourceFlow& flow) {
      if (flow.has_waiting_chunk()) sender().offer(flow);
    });
    std::vector<int> targets;
    for (std::size_t i = before; i < port_.writes.size(); ++i) {
      targets.push_back(port_.writes[i].remote.buffer.owner.value());
    }
    return targets;
  }

  std::vector<RegisteredSender::Ended> complete(int target, int index, int ticket,
                                                Outcome outcome = Outcome::kOk) {
    // Those before are the send stagers'.
    const QueuePairId id =
        port_.queue_pair(NicId(0), NicId(target), Rank(target), options_.queue_pairs + index);
    EXPECT_TRUE(sender().owns(id));
    std::vector<RegisteredSender::Ended> ended;
    sender().complete({id, Ticket(ticket), outcome}, ended);
    return ended;
  }

  static constexpr Bytes kChunk{100};
  ScriptedPort port_;
  PipelineOptions options_;
  std::deque<OperationState> operations_;
  std::unique_ptr<RegisteredSender> sender_;
};

TEST_F(RegisteredSenderTest, WritesChunksFromBufferToBuffer) {
  offer({.target = 5, .chunks = 2, .stage = 3});
  EXPECT_EQ(posted_to(), (std::vector{5, 5}));
  const WriteRequest& second = port_.writes.at(1);
  EXPECT_EQ(second.local.buffer, (BufferHandle{Rank(0), 3}));
  EXPECT_EQ(second.local.offset, Bytes(1000 + 7 + 100));
  EXPECT_EQ(second.local.size, kChunk);
  EXPECT_EQ(second.remote.offset, Bytes(2000 + 9 + 100));
  EXPECT_EQ(second.descriptor.kind, static_cast<std::uint8_t>(MessageKind::kWritten));
  EXPECT_EQ(second.descriptor.chunk, 1U);
  EXPECT_EQ(second.descriptor.stage, 3U);
  EXPECT_EQ(second.descriptor.size_bytes, 100U);
  EXPECT_EQ(second.descriptor.target_offset, 109U);
}

TEST_F(RegisteredSenderTest, KeepsToTheDepthOfTheNic) {
  options_.nic_depth = 3;
  offer({.target = 4, .chunks = 10});
  offer({.target = 5, .chunks = 10});
  EXPECT_EQ(posted_to().size(), 3U);
  EXPECT_TRUE(posted_to().empty());
  EXPECT_FALSE(sender().idle());
  EXPECT_EQ(complete(4, 0, 1).size(), 1U);
  EXPECT_EQ(posted_to().size(), 1U);
}

TEST_F(RegisteredSenderTest, WithoutStagesEveryTargetMayHaveAWriteInFlight) {
  options_.nic_depth = 2;
  for (const int target : {4, 5, 6}) offer({.target = target, .chunks = 9, .order = Order::kLocal});
  offer({.target = 7, .flow_class = FlowClass::kBackground, .order = Order::kLocal});
  EXPECT_EQ(posted_to(), (std::vector{4, 5, 6})) << "but background waits";
}

TEST_F(RegisteredSenderTest, KeepsToTheDepthOfAQueuePair) {
  options_.nic_depth = 100;
  options_.queue_pairs = 2;
  options_.queue_depth = 3;
  offer({.target = 4, .chunks = 10});
  EXPECT_EQ(posted_to().size(), 6U);
}

TEST_F(RegisteredSenderTest, TheLowestStageGoesFirst) {
  options_.nic_depth = 3;
  offer({.target = 4, .chunks = 2, .stage = 1});
  offer({.target = 5, .chunks = 2, .stage = 0});
  EXPECT_EQ(posted_to(), (std::vector{5, 5, 4}));
}

TEST_F(RegisteredSenderTest, FlowsShareInProportion) {
  options_.nic_depth = 6;
  offer({.target = 4, .chunks = 4});
  offer({.target = 4, .chunks = 2});
  posted_to();
  std::vector<std::size_t> sizes;
  for (const OperationState& state : operations_) {
    sizes.push_back(static_cast<std::size_t>(state.sources.front().posted));
  }
  EXPECT_EQ(sizes, (std::vector<std::size_t>{4, 2}));
  // At 1/8, 1/4, 3/8, 5/8, 3/4 and 7/8 of their flows.
  EXPECT_EQ(port_.writes.at(0).descriptor.chunk, 0U);
  EXPECT_EQ(port_.writes.at(2).descriptor.chunk, 1U);
  EXPECT_EQ(port_.writes.at(3).descriptor.chunk, 2U);
  EXPECT_EQ(port_.writes.at(5).descriptor.chunk, 3U);
}

TEST_F(RegisteredSenderTest, ABusyTargetDoesNotFillTheDepth) {
  options_.nic_depth = 4;
  offer({.target = 4, .chunks = 100});
  offer({.target = 5, .chunks = 2});
  EXPECT_EQ(posted_to(), (std::vector{4, 5, 4, 5}));
}

TEST_F(RegisteredSenderTest, ForegroundGoesFirst) {
  options_.nic_depth = 3;
  offer({.target = 4, .chunks = 5, .flow_class = FlowClass::kBackground});
  offer({.target = 5, .chunks = 2});
  EXPECT_EQ(posted_to(), (std::vector{5, 5, 4}));
}

TEST_F(RegisteredSenderTest, BackgroundDoesNotStarve) {
  options_.nic_depth = 1;
  offer({.target = 4, .chunks = 5, .flow_class = FlowClass::kBackground});
  offer({.target = 5, .chunks = 100});
  EXPECT_EQ(posted_to(), (std::vector{5}));
  port_.time = options_.background_patience;
  complete(5, 0, 1);
  EXPECT_EQ(posted_to(), (std::vector{4}));
  complete(4, 0, 1);
  EXPECT_EQ(posted_to(), (std::vector{5}));
}

TEST_F(RegisteredSenderTest, CommunicatorsTakeTurns) {
  options_.nic_depth = 4;
  offer({.target = 4, .chunks = 100, .communicator = 1});
  offer({.target = 4, .chunks = 3, .communicator = 2});
  posted_to();
  EXPECT_EQ(operations_[0].sources.front().posted, 2);
  EXPECT_EQ(operations_[1].sources.front().posted, 2);
}

TEST_F(RegisteredSenderTest, AnErrorEndsItsOwnWriteOnly) {
  options_.queue_pairs = 1;
  offer({.target = 4, .chunks = 3});
  EXPECT_EQ(posted_to().size(), 3U);
  const auto ended = complete(4, 0, 2, Outcome::kError);
  ASSERT_EQ(ended.size(), 2U);
  EXPECT_EQ(ended[0].outcome, Outcome::kOk);
  EXPECT_EQ(ended[1].outcome, Outcome::kError);
  EXPECT_EQ(ended[1].chunk, 1);
  EXPECT_EQ(complete(4, 0, 3).size(), 1U);
  EXPECT_TRUE(sender().idle());
}

TEST_F(RegisteredSenderTest, ForgetsADroppedOperation) {
  offer({.target = 4, .chunks = 3});
  offer({.target = 5, .chunks = 1});
  sender().drop(operations_.front());
  EXPECT_FALSE(operations_.front().sources.front().queued);
  EXPECT_EQ(posted_to(), (std::vector{5}));
}

}  // namespace
}  // namespace hoccl::engine
