// What a port tells its application and its proxy of streams, gates and submissions.

#include <algorithm>
#include <functional>

#include "engine/pipeline/command.h"
#include "tests/fabric/conformance.h"

namespace hoccl::engine {
namespace {

const Gate kGate{0, StreamId(3)};

std::vector<Sequence> reached(const std::vector<GateReached>& completions, Gate gate) {
  std::vector<Sequence> result;
  for (const GateReached& completion : completions) {
    if (completion.gate == gate) result.push_back(completion.sequence);
  }
  return result;
}

TEST_P(PortConformance, ReachedGatesAreReportedCumulatively) {
  for (Sequence sequence = 1; sequence <= 5; ++sequence) port(0).enqueue_ready(kGate, sequence);
  const auto sequences = reached(told<GateReached>(0), kGate);
  ASSERT_FALSE(sequences.empty());
  EXPECT_EQ(std::ranges::adjacent_find(sequences, std::greater_equal<>()), sequences.end());
  EXPECT_EQ(sequences.back(), 5U);
}

TEST_P(PortConformance, AStreamPassesAGateOnlyWhenItIsOpen) {
  port(0).enqueue_ready(kGate, 1);
  port(0).enqueue_wait(kGate, 1);
  port(0).enqueue_ready(kGate, 2);
  port(0).enqueue_wait(kGate, 2);
  port(0).enqueue_ready(kGate, 3);
  EXPECT_EQ(reached(told<GateReached>(0), kGate), (std::vector<Sequence>{1}));
  port(0).open_gate(kGate, 1);
  EXPECT_EQ(reached(told<GateReached>(0), kGate), (std::vector<Sequence>{2}));
  port(0).open_gate(kGate, 2);
  EXPECT_EQ(reached(told<GateReached>(0), kGate), (std::vector<Sequence>{3}));
}

TEST_P(PortConformance, OpeningAGateOpensAllBeforeIt) {
  port(0).enqueue_wait(kGate, 1);
  port(0).enqueue_wait(kGate, 2);
  port(0).enqueue_ready(kGate, 3);
  EXPECT_TRUE(told<GateReached>(0).empty());
  port(0).open_gate(kGate, 2);
  EXPECT_EQ(reached(told<GateReached>(0), kGate), (std::vector<Sequence>{3}));
}

TEST_P(PortConformance, AGateMayBeOpenedBeforeTheStreamComesThere) {
  port(0).open_gate(kGate, 1);
  run();
  port(0).enqueue_wait(kGate, 1);
  port(0).enqueue_ready(kGate, 2);
  EXPECT_EQ(reached(told<GateReached>(0), kGate), (std::vector<Sequence>{2}));
}

TEST_P(PortConformance, StreamsDoNotWaitForEachOther) {
  const Gate other{0, StreamId(4)};
  port(0).enqueue_wait(kGate, 1);
  port(0).enqueue_ready(kGate, 2);
  port(0).enqueue_ready(other, 1);
  port(1).enqueue_ready(kGate, 7);
  run();
  const auto completions = drain(0);
  EXPECT_TRUE(reached(only<GateReached>(completions), kGate).empty());
  EXPECT_EQ(reached(only<GateReached>(completions), other), (std::vector<Sequence>{1}));
  EXPECT_EQ(reached(told<GateReached>(1), kGate), (std::vector<Sequence>{7}));
}

TEST_P(PortConformance, CommunicatorsShareAStreamInOrder) {
  const Gate other{1, kGate.stream};
  port(0).enqueue_wait(kGate, 1);
  port(0).enqueue_ready(other, 1);
  EXPECT_TRUE(told<GateReached>(0).empty());
  port(0).open_gate(other, 1);
  EXPECT_TRUE(told<GateReached>(0).empty());
  port(0).open_gate(kGate, 1);
  EXPECT_EQ(reached(told<GateReached>(0), other), (std::vector<Sequence>{1}));
}

TEST_P(PortConformance, SubmissionsReachTheProxyInOrder) {
  std::vector<std::shared_ptr<const Command>> commands;
  for (int i = 0; i < 5; ++i) {
    commands.push_back(std::make_shared<Command>());
    port(last()).submit(commands.back());
  }
  const auto submitted = told<Submitted>(last());
  ASSERT_EQ(submitted.size(), commands.size());
  for (std::size_t i = 0; i < commands.size(); ++i) EXPECT_EQ(submitted[i].command, commands[i]);
}

TEST_P(PortConformance, WorkHasAStatusOnceItIsFinished) {
  EXPECT_FALSE(port(0).query(WorkId(1)).has_value());
  Status status;
  status.cause = Cause::kLinkError;
  status.peer = Rank(5);
  status.link = "nic 1 -> nic 5";
  status.chunk = 12;
  port(0).finish(WorkId(1), status);
  port(0).finish(WorkId(2), Status());
  run();
  ASSERT_TRUE(port(0).query(WorkId(1)).has_value());
  EXPECT_EQ(port(0).query(WorkId(1))->cause, Cause::kLinkError);
  EXPECT_EQ(port(0).query(WorkId(1))->peer, Rank(5));
  EXPECT_EQ(port(0).query(WorkId(1))->link, "nic 1 -> nic 5");
  EXPECT_EQ(port(0).query(WorkId(1))->chunk, 12);
  EXPECT_TRUE(port(0).query(WorkId(2))->ok());
  EXPECT_FALSE(port(1).query(WorkId(1)).has_value());
}

std::vector<bool> activity(const std::vector<ForegroundChanged>& changes) {
  std::vector<bool> result;
  for (const ForegroundChanged& change : changes) result.push_back(change.active);
  return result;
}

TEST_P(PortConformance, ForegroundWorkIsReportedOnItsGpuOnly) {
  port(0).enqueue_foreground(StreamId(1), true);
  EXPECT_EQ(activity(told<ForegroundChanged>(0)), (std::vector<bool>{true}));
  port(0).enqueue_foreground(StreamId(2), true);
  run();  // streams do not wait for each other
  port(0).enqueue_foreground(StreamId(1), false);
  EXPECT_TRUE(told<ForegroundChanged>(0).empty()) << "stream 2 is still busy";
  port(0).enqueue_foreground(StreamId(2), false);
  EXPECT_EQ(activity(told<ForegroundChanged>(0)), (std::vector<bool>{false}));
  EXPECT_TRUE(told<ForegroundChanged>(1).empty());
}

TEST_P(PortConformance, ForegroundWorkWaitsForItsTurnInTheStream) {
  port(0).enqueue_wait(kGate, 1);
  port(0).enqueue_foreground(kGate.stream, true);
  EXPECT_TRUE(told<ForegroundChanged>(0).empty());
  port(0).open_gate(kGate, 1);
  EXPECT_EQ(activity(told<ForegroundChanged>(0)), (std::vector<bool>{true}));
}

}  // namespace
}  // namespace hoccl::engine
