// Copies, writes and messages of a port.

#include <algorithm>
#include <cstring>
#include <set>

#include "engine/pipeline/messages.h"
#include "tests/fabric/conformance.h"

namespace hoccl::engine {
namespace {

constexpr Bytes kSize(3000);
const Lane kPeerLane{CopyClass::kPeer, 0};

/// A message that any rank may send to any other, because some fabrics turn others away. The number
/// is also in every byte that the message does not use.
Message numbered(std::uint8_t number) {
  FlowMessage flow;
  flow.kind = MessageKind::kStopped;
  flow.operation.number = number;
  Message message = pack(flow);
  std::fill(message.bytes.begin() + sizeof(flow), message.bytes.end(), std::byte{number});
  return message;
}

std::vector<std::uint8_t> numbers(const std::vector<MessageArrived>& messages, int source) {
  std::vector<std::uint8_t> result;
  for (const MessageArrived& message : messages) {
    if (message.source != Rank(source)) continue;
    const auto number = std::to_integer<std::uint8_t>(message.message.bytes.back());
    EXPECT_EQ(message.message.bytes, numbered(number).bytes);
    result.push_back(number);
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
  const BufferHandle source = fabric().allocate(Rank(0), kSize * 4);
  fabric().fill({source, Bytes(0), kSize * 4}, 7);
  std::vector<Region> slots;
  for (int i = 0; i < 4; ++i) {
    const Region target = slot(topology().gpu_place(GpuId(1)), true, i, kSize);
    const Region part{source, kSize * i, kSize};
    fabric().fill(part, static_cast<std::uint64_t>(i));
    const Ticket ticket = port(0).post_copy(kPeerLane, {part, target, Leg::kStageIn, {}});
    EXPECT_EQ(ticket, Ticket(i + 1));
    if (i % 2 == 1) port(0).flush();
    slots.push_back(target);
  }
  expect_cumulative(told<CopiesDone>(0), kPeerLane, Ticket(4));
  for (std::size_t i = 0; i < slots.size(); ++i) EXPECT_TRUE(fabric().holds(slots[i], i)) << i;
}

TEST_P(PortConformance, NothingIsCopiedBeforeFlush) {
  const Region source{fabric().allocate(Rank(0), kSize), Bytes(0), kSize};
  const Region target = slot(topology().gpu_place(GpuId(1)), true, 0, kSize);
  port(0).post_copy(kPeerLane, {source, target, Leg::kStageIn, {}});
  EXPECT_TRUE(told<CopiesDone>(0).empty());
  port(0).flush();
  expect_cumulative(told<CopiesDone>(0), kPeerLane, Ticket(1));
}

TEST_P(PortConformance, FlushHandsOverAllLanesAndTicketsArePerLane) {
  const Lane other{CopyClass::kPeer, 1};
  for (int i = 0; i < 4; ++i) {
    const Region source{fabric().allocate(Rank(0), kSize), Bytes(0), kSize};
    const Region target = slot(topology().gpu_place(GpuId(1)), true, i, kSize);
    EXPECT_EQ(port(0).post_copy(i < 3 ? kPeerLane : other, {source, target, Leg::kStageIn, {}}),
              i < 3 ? Ticket(i + 1) : Ticket(1));
  }
  port(0).flush();
  const auto done = told<CopiesDone>(0);
  expect_cumulative(done, kPeerLane, Ticket(3));
  expect_cumulative(done, other, Ticket(1));
}

/// A write from one send slot to one receive slot, as a send stager posts it: fabrics may turn
/// others away. The chunk tells it from its siblings.
WriteRequest write_between(const StagingPlace& from, std::uint16_t send_slot,
                           const StagingPlace& to, std::uint16_t receive_slot,
                           std::uint32_t chunk) {
  WriteRequest request;
  request.local = {from.send_slots, from.slot_size * send_slot, kSize};
  request.remote = {to.receive_slots, to.slot_size * receive_slot, kSize};
  request.immediate = receive_slot;
  request.descriptor.kind = static_cast<std::uint8_t>(MessageKind::kStaged);
  request.descriptor.slot = receive_slot;
  request.descriptor.place = static_cast<std::uint16_t>(to.place.value());
  request.descriptor.chunk = chunk;
  request.descriptor.size_bytes = static_cast<std::uint32_t>(kSize.count());
  request.descriptor.target_offset = 0x123456789abcULL + chunk;
  request.descriptor.local_targets = {1U, 0U, 0U};
  request.descriptor.operation.number = 99;
  return request;
}

TEST_P(PortConformance, WritesOfAQueuePairArriveInOrderWithTheirDescriptors) {
  for (int i = 0; i < 4; ++i) stage(i, kSize, 100U + std::uint64_t(i));
  const QueuePairId queue_pair =
      port(sender()).queue_pair(send_nic(), receive_nic(), Rank(receiver()), 0);
  const StagingPlace from = port(sender()).staging(send_place());
  const StagingPlace to = port(sender()).staging(receive_place());
  std::vector<WriteRequest> writes;
  for (std::uint16_t i = 0; i < 4; ++i) {
    const auto last_first = static_cast<std::uint16_t>(3 - i);
    writes.push_back(write_between(from, i, to, last_first, 40U + i));
    EXPECT_EQ(port(sender()).post_write(queue_pair, writes.back()), Ticket(i + 1));
  }
  const auto arrived = told<Arrived>(receiver());
  ASSERT_EQ(arrived.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(arrived[i].local_nic, receive_nic());
    EXPECT_EQ(arrived[i].remote_nic, send_nic());
    EXPECT_EQ(arrived[i].immediate, writes[i].immediate);
    EXPECT_EQ(std::memcmp(&arrived[i].descriptor, &writes[i].descriptor, sizeof(Descriptor)), 0);
    EXPECT_TRUE(fabric().holds(writes[i].remote, 100U + i)) << i;
  }
  Ticket before(0);
  for (const WritesDone& done : only<WritesDone>(drain(sender()))) {
    EXPECT_EQ(done.queue_pair, queue_pair);
    EXPECT_EQ(done.outcome, Outcome::kOk);
    EXPECT_GT(done.ticket, before);
    before = done.ticket;
  }
  EXPECT_EQ(before, Ticket(4));
  EXPECT_TRUE(pull(3, kSize, 100));
}

TEST_P(PortConformance, QueuePairsOfOnePairOfNicsAreIndependent) {
  stage(0, kSize, 1);
  stage(1, kSize, 2);
  const QueuePairId first =
      port(sender()).queue_pair(send_nic(), receive_nic(), Rank(receiver()), 0);
  const QueuePairId second =
      port(sender()).queue_pair(send_nic(), receive_nic(), Rank(receiver()), 1);
  const StagingPlace from = port(sender()).staging(send_place());
  const StagingPlace to = port(sender()).staging(receive_place());
  EXPECT_EQ(port(sender()).post_write(first, write_between(from, 0, to, 0, 0)), Ticket(1));
  EXPECT_EQ(port(sender()).post_write(second, write_between(from, 1, to, 1, 1)), Ticket(1));
  EXPECT_EQ(told<Arrived>(receiver()).size(), 2U);
  std::set<QueuePairId> done;
  for (const WritesDone& one : only<WritesDone>(drain(sender()))) done.insert(one.queue_pair);
  EXPECT_EQ(done, (std::set{first, second}));
}

TEST_P(PortConformance, AskingForAQueuePairAgainGivesTheSame) {
  Port& port = this->port(sender());
  const NicId other_nic = topology().nics_of(NodeId(1)).back();
  const QueuePairId queue_pair = port.queue_pair(send_nic(), receive_nic(), Rank(receiver()), 0);
  EXPECT_EQ(port.queue_pair(send_nic(), receive_nic(), Rank(receiver()), 0), queue_pair);
  EXPECT_NE(port.queue_pair(send_nic(), receive_nic(), Rank(receiver()), 1), queue_pair);
  const Rank other_host = topology().host_of(topology().place_of(other_nic));
  EXPECT_NE(port.queue_pair(send_nic(), other_nic, other_host, 0), queue_pair);
  EXPECT_EQ(port.queue_pair(send_nic(), receive_nic(), Rank(receiver()), 0), queue_pair);
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
    port(last()).post_message(Rank(1), numbered(static_cast<std::uint8_t>(100 + i)));
  }
  const auto messages = told<MessageArrived>(1);
  ASSERT_EQ(messages.size(), 40U);
  const auto near = numbers(messages, 0);
  const auto far = numbers(messages, last());
  ASSERT_EQ(near.size(), 20U);
  EXPECT_TRUE(std::ranges::is_sorted(near));
  EXPECT_TRUE(std::ranges::is_sorted(far));
  EXPECT_EQ(near.front(), 1);
  EXPECT_EQ(far.back(), 120);
}

TEST_P(PortConformance, ARankSendsMessagesToItself) {
  port(last()).post_message(Rank(last()), numbered(1));
  port(last()).post_message(Rank(last()), numbered(2));
  EXPECT_EQ(numbers(told<MessageArrived>(last()), last()), (std::vector<std::uint8_t>{1, 2}));
}

TEST_P(PortConformance, AnExportedBufferIsWrittenByItsImporter) {
  make(GetParam().within_a_node());
  const Region target{fabric().allocate(Rank(1), kSize), Bytes(0), kSize};
  const Region source{fabric().allocate(Rank(0), kSize), Bytes(0), kSize};
  fabric().fill(source, 77);
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
  EXPECT_TRUE(fabric().holds(target, 77));
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

TEST_P(PortConformance, RanksOfANodeSeeEachOthersCopies) {
  make(GetParam().within_a_node());
  const GpuId gpu = topology().gpu_of(Rank(0));
  EXPECT_EQ(port(1).copies_under_way(gpu, LinkSide::kIn), 0);
  port(0).report_copies(gpu, LinkSide::kIn, 3);
  port(1).report_copies(gpu, LinkSide::kIn, 2);
  port(1).report_copies(gpu, LinkSide::kOut, 7);
  for (const int rank : {0, 1}) {
    EXPECT_EQ(port(rank).copies_under_way(gpu, LinkSide::kIn), 5) << rank;
    EXPECT_EQ(port(rank).copies_under_way(gpu, LinkSide::kOut), 7) << rank;
  }
  // What a rank tells replaces what it told before.
  port(1).report_copies(gpu, LinkSide::kIn, 0);
  EXPECT_EQ(port(0).copies_under_way(gpu, LinkSide::kIn), 3);
}

}  // namespace
}  // namespace hoccl::engine
