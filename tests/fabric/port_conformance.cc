#include <algorithm>
#include <array>
#include <cstring>
#include <set>

#include "engine/pipeline/command.h"
#include "tests/fabric/conformance.h"

namespace hoccl::engine {

std::vector<Completion> PortConformance::drain(int rank) {
  std::vector<Completion> all;
  std::array<Completion, 16> some;
  while (const std::size_t count = port(rank).poll(some)) {
    all.insert(all.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(count));
  }
  return all;
}

Region PortConformance::slot(PlaceId place, bool send, int index, Bytes size) {
  const StagingPlace& staging = port(0).staging(place);
  return {send ? staging.send_slots : staging.receive_slots, staging.slot_size * index, size};
}

void PortConformance::stage(int source, PlaceId place, int index, Bytes size,
                            std::uint64_t message) {
  const Region buffer{fabric_->allocate(Rank(source), size), Bytes(0), size};
  fabric_->fill(buffer, message);
  CopyRequest request;
  request.source = buffer;
  request.target = slot(place, true, index, size);
  request.leg = Leg::kStageIn;
  port(source).post_copy({CopyClass::kPeer, 0}, request);
  port(source).flush();
  run();
  drain(source);
}

bool PortConformance::pull(int target, PlaceId place, int index, Bytes size,
                           std::uint64_t message) {
  const Region buffer{fabric_->allocate(Rank(target), size), Bytes(0), size};
  CopyRequest request;
  request.source = slot(place, false, index, size);
  request.target = buffer;
  request.leg = Leg::kDeliver;
  port(target).post_copy({CopyClass::kPeer, 0}, request);
  port(target).flush();
  run();
  drain(target);
  return fabric_->holds(buffer, message);
}

NicId PortConformance::send_nic() const { return topology().nics_of(NodeId(0)).front(); }
NicId PortConformance::receive_nic() const { return topology().nics_of(NodeId(1)).front(); }
PlaceId PortConformance::send_place() const { return topology().place_of(send_nic()); }
PlaceId PortConformance::receive_place() const { return topology().place_of(receive_nic()); }
int PortConformance::sender() const { return topology().host_of(send_place()).value(); }
int PortConformance::receiver() const { return topology().host_of(receive_place()).value(); }

namespace {

constexpr Bytes kSize(3000);
const Lane kPeerLane{CopyClass::kPeer, 0};
const Gate kGate{0, StreamId(3)};

Message numbered(std::uint8_t number) {
  Message message;
  message.bytes.fill(std::byte{number});
  return message;
}

std::vector<std::uint8_t> numbers(const std::vector<MessageArrived>& messages, int source) {
  std::vector<std::uint8_t> result;
  for (const MessageArrived& message : messages) {
    if (message.source != Rank(source)) continue;
    EXPECT_EQ(message.message.bytes,
              numbered(std::to_integer<std::uint8_t>(message.message.bytes.front())).bytes);
    result.push_back(std::to_integer<std::uint8_t>(message.message.bytes.front()));
  }
  return result;
}

std::vector<Sequence> reached(const std::vector<GateReached>& completions, Gate gate) {
  std::vector<Sequence> result;
  for (const GateReached& completion : completions) {
    if (completion.gate == gate) result.push_back(completion.sequence);
  }
  return result;
}

/// The tickets of one lane grow, end with `last`, and none failed.
void expect_cumulative(const std::vector<CopiesDone>& completions, Lane lane, Ticket last) {
  Ticket before(0);
  for (const CopiesDone& done : completions) {
    if (done.lane != lane) continue;
    EXPECT_EQ(done.outcome, Outcome::kOk);
    EXPECT_GT(done.ticket, before);
    before = done.ticket;
  }
  EXPECT_EQ(before, last);
}

TEST_P(PortConformance, CopiesOfALaneCompleteCumulativelyInOrder) {
  const BufferHandle source = fabric_->allocate(Rank(0), kSize * 4);
  fabric_->fill({source, Bytes(0), kSize * 4}, 7);
  std::vector<Region> slots;
  for (int i = 0; i < 4; ++i) {
    const Region target = slot(topology().gpu_place(GpuId(1)), true, i, kSize);
    const Region part{source, kSize * i, kSize};
    fabric_->fill(part, static_cast<std::uint64_t>(i));
    const Ticket ticket = port(0).post_copy(kPeerLane, {part, target, Leg::kStageIn, {}});
    EXPECT_EQ(ticket, Ticket(i + 1));
    if (i % 2 == 1) port(0).flush();
    slots.push_back(target);
  }
  expect_cumulative(told<CopiesDone>(0), kPeerLane, Ticket(4));
  for (std::size_t i = 0; i < slots.size(); ++i) EXPECT_TRUE(fabric_->holds(slots[i], i)) << i;
}

TEST_P(PortConformance, NothingIsCopiedBeforeFlush) {
  const Region source{fabric_->allocate(Rank(0), kSize), Bytes(0), kSize};
  const Region target = slot(topology().gpu_place(GpuId(1)), true, 0, kSize);
  port(0).post_copy(kPeerLane, {source, target, Leg::kStageIn, {}});
  EXPECT_TRUE(told<CopiesDone>(0).empty());
  port(0).flush();
  expect_cumulative(told<CopiesDone>(0), kPeerLane, Ticket(1));
}

TEST_P(PortConformance, FlushHandsOverAllLanesAndTicketsArePerLane) {
  const Lane other{CopyClass::kPeer, 1};
  for (int i = 0; i < 4; ++i) {
    const Region source{fabric_->allocate(Rank(0), kSize), Bytes(0), kSize};
    const Region target = slot(topology().gpu_place(GpuId(1)), true, i, kSize);
    EXPECT_EQ(port(0).post_copy(i < 3 ? kPeerLane : other, {source, target, Leg::kStageIn, {}}),
              i < 3 ? Ticket(i + 1) : Ticket(1));
  }
  port(0).flush();
  const auto done = told<CopiesDone>(0);
  expect_cumulative(done, kPeerLane, Ticket(3));
  expect_cumulative(done, other, Ticket(1));
}

/// A write from one slot to another, told from its siblings by `immediate`.
WriteRequest write_between(const Region& local, const Region& remote, std::uint32_t immediate) {
  WriteRequest request;
  request.local = local;
  request.remote = remote;
  request.immediate = immediate;
  request.descriptor.kind = 5;
  request.descriptor.chunk = immediate;
  request.descriptor.target_offset = 0x123456789abcULL + immediate;
  request.descriptor.local_targets = {1U, 0U, 0U};
  request.descriptor.operation.number = 99;
  return request;
}

TEST_P(PortConformance, WritesOfAQueuePairArriveInOrderWithTheirDescriptors) {
  for (int i = 0; i < 4; ++i) stage(sender() + 1, send_place(), i, kSize, 100U + std::uint64_t(i));
  const QueuePairId queue_pair = port(sender()).queue_pair(send_nic(), receive_nic(), 0);
  std::vector<WriteRequest> writes;
  for (int i = 0; i < 4; ++i) {
    writes.push_back(write_between(slot(send_place(), true, i, kSize),
                                   slot(receive_place(), false, 3 - i, kSize),
                                   40U + static_cast<std::uint32_t>(i)));
    EXPECT_EQ(port(sender()).post_write(queue_pair, writes.back()), Ticket(i + 1));
  }
  const auto arrived = told<Arrived>(receiver());
  ASSERT_EQ(arrived.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(arrived[i].local_nic, receive_nic());
    EXPECT_EQ(arrived[i].remote_nic, send_nic());
    EXPECT_EQ(arrived[i].immediate, writes[i].immediate);
    EXPECT_EQ(std::memcmp(&arrived[i].descriptor, &writes[i].descriptor, sizeof(Descriptor)), 0);
    EXPECT_TRUE(fabric_->holds(writes[i].remote, 100U + i)) << i;
  }
  Ticket before(0);
  for (const WritesDone& done : only<WritesDone>(drain(sender()))) {
    EXPECT_EQ(done.queue_pair, queue_pair);
    EXPECT_EQ(done.outcome, Outcome::kOk);
    EXPECT_GT(done.ticket, before);
    before = done.ticket;
  }
  EXPECT_EQ(before, Ticket(4));
  EXPECT_TRUE(pull(receiver() + 1, receive_place(), 3, kSize, 100));
}

TEST_P(PortConformance, QueuePairsOfOnePairOfNicsAreIndependent) {
  stage(sender() + 1, send_place(), 0, kSize, 1);
  stage(sender() + 1, send_place(), 1, kSize, 2);
  const QueuePairId first = port(sender()).queue_pair(send_nic(), receive_nic(), 0);
  const QueuePairId second = port(sender()).queue_pair(send_nic(), receive_nic(), 1);
  EXPECT_EQ(
      port(sender()).post_write(first, write_between(slot(send_place(), true, 0, kSize),
                                                     slot(receive_place(), false, 0, kSize), 0)),
      Ticket(1));
  EXPECT_EQ(
      port(sender()).post_write(second, write_between(slot(send_place(), true, 1, kSize),
                                                      slot(receive_place(), false, 1, kSize), 1)),
      Ticket(1));
  EXPECT_EQ(told<Arrived>(receiver()).size(), 2U);
  std::set<QueuePairId> done;
  for (const WritesDone& one : only<WritesDone>(drain(sender()))) done.insert(one.queue_pair);
  EXPECT_EQ(done, (std::set{first, second}));
}

TEST_P(PortConformance, AskingForAQueuePairAgainGivesTheSame) {
  Port& port = this->port(sender());
  const NicId other_nic = topology().nics_of(NodeId(1)).back();
  const QueuePairId queue_pair = port.queue_pair(send_nic(), receive_nic(), 0);
  EXPECT_EQ(port.queue_pair(send_nic(), receive_nic(), 0), queue_pair);
  EXPECT_NE(port.queue_pair(send_nic(), receive_nic(), 1), queue_pair);
  EXPECT_NE(port.queue_pair(send_nic(), other_nic, 0), queue_pair);
  EXPECT_EQ(port.queue_pair(send_nic(), receive_nic(), 0), queue_pair);
}

TEST_P(PortConformance, StagingPlacesAreTheSameForAllRanks) {
  for (int i = 0; i < topology().gpu_count(); ++i) {
    const PlaceId place = topology().place_of(GpuId(i));
    const StagingPlace& first = port(0).staging(place);
    EXPECT_EQ(first.place, place);
    EXPECT_EQ(first.host, topology().host_of(place));
    EXPECT_EQ(first.send_slot_count, 4);
    EXPECT_EQ(first.receive_slot_count, 4);
    EXPECT_EQ(first.slot_size, FabricSettings().slot_size);
    EXPECT_EQ(first.send_slots.owner, first.host);
    EXPECT_NE(first.send_slots, first.receive_slots);
    for (int rank = 1; rank < topology().rank_count(); ++rank) {
      const StagingPlace& other = port(rank).staging(place);
      EXPECT_EQ(other.host, first.host);
      EXPECT_EQ(other.send_slots, first.send_slots);
      EXPECT_EQ(other.receive_slots, first.receive_slots);
    }
  }
}

TEST_P(PortConformance, MessagesOfAPairStayInOrder) {
  for (std::uint8_t i = 1; i <= 20; ++i) {
    port(0).post_message(Rank(1), numbered(i));
    port(5).post_message(Rank(1), numbered(static_cast<std::uint8_t>(100 + i)));
  }
  const auto messages = told<MessageArrived>(1);
  ASSERT_EQ(messages.size(), 40U);
  const auto near = numbers(messages, 0);
  const auto far = numbers(messages, 5);
  ASSERT_EQ(near.size(), 20U);
  EXPECT_TRUE(std::ranges::is_sorted(near));
  EXPECT_TRUE(std::ranges::is_sorted(far));
  EXPECT_EQ(near.front(), 1);
  EXPECT_EQ(far.back(), 120);
}

TEST_P(PortConformance, ARankSendsMessagesToItself) {
  port(2).post_message(Rank(2), numbered(1));
  port(2).post_message(Rank(2), numbered(2));
  EXPECT_EQ(numbers(told<MessageArrived>(2), 2), (std::vector<std::uint8_t>{1, 2}));
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
    port(3).submit(commands.back());
  }
  const auto submitted = told<Submitted>(3);
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

TEST_P(PortConformance, AnExportedBufferIsWrittenByItsImporter) {
  const Region target{fabric_->allocate(Rank(1), kSize), Bytes(0), kSize};
  const Region source{fabric_->allocate(Rank(0), kSize), Bytes(0), kSize};
  fabric_->fill(source, 77);
  port(1).export_buffer(target.buffer);
  const auto exported = told<BufferExported>(1);
  ASSERT_EQ(exported.size(), 1U);
  EXPECT_EQ(exported.front().buffer, target.buffer);
  EXPECT_TRUE(exported.front().ok);
  port(0).import_buffer(target.buffer);
  const auto imported = told<BufferImported>(0);
  ASSERT_EQ(imported.size(), 1U);
  EXPECT_EQ(imported.front().buffer, target.buffer);
  EXPECT_TRUE(imported.front().ok);
  port(0).post_copy(kPeerLane, {source, target, Leg::kDirect, {}});
  port(0).flush();
  expect_cumulative(told<CopiesDone>(0), kPeerLane, Ticket(1));
  EXPECT_TRUE(fabric_->holds(target, 77));
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

TEST_P(PortConformance, TimeDoesNotRunBackwards) {
  Seconds before = port(0).now();
  for (std::uint8_t i = 0; i < 10; ++i) {
    port(0).post_message(Rank(1), numbered(i));
    port(0).account(CpuWork::kBookkeeping, 3);
    run();
    EXPECT_GE(port(0).now(), before);
    before = port(0).now();
  }
  EXPECT_GT(before, Seconds(0.0));
}

}  // namespace
}  // namespace hoccl::engine
