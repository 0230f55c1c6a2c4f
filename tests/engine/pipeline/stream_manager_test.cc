#include "engine/pipeline/stream_manager.h"

#include <gtest/gtest.h>

#include "tests/engine/pipeline/scripted_port.h"

namespace hoccl::engine {
namespace {

class StreamManagerTest : public ::testing::Test {
 protected:
  static OperationId id(std::uint32_t number) {
    OperationId id;
    id.number = number;
    return id;
  }

  void submit(Gate gate, Sequence sequence, std::vector<std::uint32_t> numbers) {
    SubmitGroup group;
    group.gate = gate;
    group.sequence = sequence;
    group.work = WorkId(static_cast<std::int64_t>(sequence) + 100 * gate.stream.value());
    for (const std::uint32_t number : numbers) {
      Operation operation;
      operation.id = id(number);
      group.operations.push_back(operation);
    }
    manager_.submit(group);
    manager_.act();
  }

  void reach(Gate gate, Sequence sequence) {
    manager_.gate_reached({gate, sequence});
    manager_.act();
  }

  void end(std::uint32_t number, Cause cause = Cause::kNone) {
    Status status;
    status.cause = cause;
    manager_.operation_ended(id(number), status);
    manager_.act();
  }

  ScriptedPort port_;
  std::vector<std::uint32_t> started_;
  StreamManager manager_{port_, [this](const OperationId& id) { started_.push_back(id.number); }};
  Gate first_{1, StreamId(0)};
  Gate second_{1, StreamId(1)};
};

TEST_F(StreamManagerTest, StartsAGroupOnlyWhenItsStreamIsThere) {
  submit(first_, 1, {10});
  EXPECT_TRUE(started_.empty());
  reach(first_, 1);
  EXPECT_EQ(started_, std::vector<std::uint32_t>{10});
}

TEST_F(StreamManagerTest, StartsAtOnceWhenTheStreamWasThereFirst) {
  reach(first_, 1);
  submit(first_, 1, {10});
  EXPECT_EQ(started_, std::vector<std::uint32_t>{10});
}

TEST_F(StreamManagerTest, ReachingIsCumulative) {
  submit(first_, 1, {10});
  submit(first_, 2, {11});
  submit(first_, 3, {12});
  reach(first_, 2);
  EXPECT_EQ(started_, (std::vector<std::uint32_t>{10, 11}));
}

TEST_F(StreamManagerTest, OpensTheGateWhenAllOperationsOfTheGroupHaveEnded) {
  submit(first_, 1, {10, 11});
  reach(first_, 1);
  end(10);
  EXPECT_TRUE(port_.opened.empty());
  end(11);
  ASSERT_EQ(port_.opened.size(), 1U);
  EXPECT_EQ(port_.opened[0], std::pair(first_, Sequence{1}));
  EXPECT_TRUE(port_.finished.at(0).second.ok());
  EXPECT_TRUE(manager_.idle());
}

TEST_F(StreamManagerTest, KeepsTheOrderOfOneStreamWhenALaterGroupEndsFirst) {
  submit(first_, 1, {10});
  submit(first_, 2, {11});
  reach(first_, 2);
  end(11);
  EXPECT_TRUE(port_.opened.empty());
  end(10);
  ASSERT_EQ(port_.opened.size(), 2U);
  EXPECT_EQ(port_.opened[0].second, 1U);
  EXPECT_EQ(port_.opened[1].second, 2U);
}

TEST_F(StreamManagerTest, StreamsProgressIndependently) {
  submit(first_, 1, {10});
  submit(second_, 1, {20});
  reach(second_, 1);
  end(20);
  ASSERT_EQ(port_.opened.size(), 1U);
  EXPECT_EQ(port_.opened[0].first, second_);
}

TEST_F(StreamManagerTest, AnErrorOpensTheGateAndIsReported) {
  submit(first_, 1, {10, 11});
  reach(first_, 1);
  end(10, Cause::kLinkError);
  end(11);
  ASSERT_EQ(port_.opened.size(), 1U);
  EXPECT_EQ(port_.finished.at(0).second.cause, Cause::kLinkError);
}

TEST_F(StreamManagerTest, AnOperationThatFailsBeforeItsStreamArrivesWaitsForTheStream) {
  submit(first_, 1, {10});
  end(10, Cause::kPeerLost);
  EXPECT_TRUE(port_.opened.empty());
  reach(first_, 1);
  ASSERT_EQ(port_.opened.size(), 1U);
}

TEST_F(StreamManagerTest, RefusesASequenceThatDoesNotGrow) {
  submit(first_, 2, {10});
  EXPECT_DEATH(submit(first_, 2, {11}), "sequence 2 submitted after 2");
}

}  // namespace
}  // namespace hoccl::engine
