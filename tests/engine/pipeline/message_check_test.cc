// Every field that can be wrong by itself, kind by kind. That the check is not stricter than the
// protocol is seen elsewhere: IdealFabric applies it to all that proxies say to each other.

#include "engine/pipeline/message_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "engine/base/random.h"
#include "engine/pipeline/messages.h"

namespace hoccl::engine {
namespace {

using testing::StartsWith;

const SlotSupply kSlots{.slot_size = Bytes(4096), .send_slots = 4, .receive_slots = 6};
/// Rank 0 sends to rank 4 through NICs 1 -> 5, whose slots ranks 1 and 5 host.
constexpr OperationId kPair{
    .communicator = 0, .source = 0, .target = 4, .reserved = 0, .number = 3};
constexpr OperationId kDirectPair{0, 0, 2, 0, 3};
constexpr OperationId kCollective{.communicator = 2,
                                  .source = OperationId::kCollective,
                                  .target = OperationId::kCollective,
                                  .reserved = 0,
                                  .number = 0};

const Topology& topology() {
  static const Topology kTopology = preset_topology("h800-2x4");
  return kTopology;
}

std::string wrong(const Message& message, int sender, int receiver) {
  return wrong_with(message, Rank(sender), Rank(receiver), topology(), kSlots);
}

/// A good message between two ranks, to be spoiled.
template <class Record>
class Good {
 public:
  Good(Record record, int sender, int receiver)
      : record_(record), sender_(sender), receiver_(receiver) {
    EXPECT_EQ(wrong(pack(record), sender, receiver), "");
  }

  template <class Spoil>
  [[nodiscard]] std::string spoiled(Spoil spoil) const {
    Record record = record_;
    spoil(record);
    return wrong(pack(record), sender_, receiver_);
  }
  [[nodiscard]] std::string from(int sender) const {
    return wrong(pack(record_), sender, receiver_);
  }
  [[nodiscard]] std::string to(int receiver) const {
    return wrong(pack(record_), sender_, receiver);
  }

 private:
  Record record_;
  int sender_;
  int receiver_;
};

ReadyMessage ready() {
  ReadyMessage message;
  message.operation = kPair;
  message.message_size_bytes = 1 << 20;
  return message;
}

TEST(MessageCheck, Ready) {
  const Good<ReadyMessage> staged(ready(), 4, 0);
  EXPECT_EQ(staged.spoiled([](auto& m) { m.access = BufferAccess(3); }),
            "ready: access = 3: expected 0 to 2");
  EXPECT_EQ(staged.spoiled([](auto& m) { m.access = BufferAccess::kRefused; }),
            "ready: sender = 4: expected a rank of the receiver's node");
  EXPECT_THAT(staged.spoiled([](auto& m) { m.operation.source = 8; }),
              StartsWith("ready: operation = 0:8->4#3: expected a collective or "));
  EXPECT_EQ(staged.spoiled([](auto& m) { m.operation.reserved = 1; }),
            "ready: reserved field of the operation = 1: expected 0");
  EXPECT_EQ(staged.from(5), "ready: operation = 0:0->4#3: expected one from rank 0 to rank 5");
  EXPECT_THAT(staged.spoiled([](auto& m) { m.message_size_bytes = -1; }),
              StartsWith("ready: message size = -1: "));
  EXPECT_THAT(staged.spoiled([](auto& m) { m.offset = -1; }), StartsWith("ready: offset = -1: "));
  EXPECT_EQ(staged.from(8), "ready: sender = 8: expected 0 to 7");
  EXPECT_EQ(staged.to(-1), "ready: receiver = -1: expected 0 to 7");

  ReadyMessage record = ready();
  record.operation = kDirectPair;
  record.access = BufferAccess::kOpen;
  record.buffer = {Rank(2), 7};
  const Good<ReadyMessage> direct(record, 2, 0);
  EXPECT_EQ(direct.spoiled([](auto& m) { m.buffer.owner = Rank(3); }),
            "ready: owner of the buffer = 3: expected rank 2, the sender");
  EXPECT_THAT(direct.spoiled([](auto& m) { m.buffer.id = -1; }),
              StartsWith("ready: buffer = -1: "));
  record.operation = kPair;
  record.buffer.owner = Rank(4);
  EXPECT_EQ(wrong(pack(record), 4, 0), "") << "registered, for a rank of another node";
}

LeaseRequestMessage lease_request() {
  LeaseRequestMessage message;
  message.operation = kPair;
  message.flow = FlowId(0);
  message.target = Rank(4);
  message.send_nic = NicId(1);
  message.receive_nic = NicId(5);
  message.place = PlaceId(1);
  message.chunks = 10;
  message.total = 10;
  return message;
}

TEST(MessageCheck, LeaseRequest) {
  const Good<LeaseRequestMessage> good(lease_request(), 0, 1);
  EXPECT_THAT(good.spoiled([](auto& m) { m.traffic_class = 2; }),
              StartsWith("lease request: class = 2: "));
  EXPECT_THAT(good.spoiled([](auto& m) { m.flow = FlowId(-1); }),
              StartsWith("lease request: flow = -1: "));
  EXPECT_THAT(good.spoiled([](auto& m) {
    m.operation = kCollective;
    m.target = Rank(8);
  }),
              StartsWith("lease request: target = 8: "));
  EXPECT_THAT(good.spoiled([](auto& m) { m.target = Rank(6); }),
              StartsWith("lease request: operation = "));
  EXPECT_THAT(good.spoiled([](auto& m) { m.send_nic = NicId(8); }),
              StartsWith("lease request: send NIC = 8: "));
  EXPECT_THAT(good.spoiled([](auto& m) { m.receive_nic = NicId(-7); }),
              StartsWith("lease request: receive NIC = -7: "));
  EXPECT_EQ(good.spoiled([](auto& m) { m.send_nic = NicId(2); }),
            "lease request: send NIC = 2: expected one whose slots rank 1 hosts");
  EXPECT_EQ(good.spoiled([](auto& m) { m.place = PlaceId(2); }),
            "lease request: place = 2: expected one that rank 1 hosts");
  EXPECT_THAT(good.spoiled([](auto& m) { m.first = 1; }), StartsWith("lease request: chunks = 10"));
  EXPECT_THAT(good.spoiled([](auto& m) { m.branches = 4; }),
              StartsWith("lease request: branches = 4: "));
  EXPECT_EQ(good.spoiled([](auto& m) { m.receive_nic = NicId(3); }),
            "lease request: receive NIC = 3: expected one on another node than the send NIC");
  EXPECT_EQ(good.spoiled([](auto& m) {
    m.operation = kCollective;
    m.target = Rank(3);
  }),
            "lease request: receive NIC = 5: expected one on the target's node");
  EXPECT_THAT(good.spoiled([](auto& m) { m.chunks = 0; }),
              StartsWith("lease request: chunks = 0: "));
  EXPECT_THAT(good.from(7), StartsWith("lease request: operation = "));
  EXPECT_THAT(good.to(2), StartsWith("lease request: place = 1: "));
}

TEST(MessageCheck, LeaseGrant) {
  LeaseGrantMessage message;
  message.operation = kPair;
  message.flow = FlowId(2);
  message.count = 2;
  message.slots[0] = {.slot = 0, .place = 1, .generation = 9};
  message.slots[1] = {.slot = 3, .place = 1, .generation = 9};
  const Good<LeaseGrantMessage> good(message, 1, 0);
  EXPECT_EQ(good.spoiled([](auto& m) { m.count = 0; }), "lease grant: count = 0: expected 1 to 5");
  EXPECT_EQ(good.spoiled([](auto& m) { m.count = 6; }), "lease grant: count = 6: expected 1 to 5");
  EXPECT_EQ(good.spoiled([](auto& m) { m.slots[1].slot = 4; }),
            "lease grant: slot = 4: expected 0 to 3");
  EXPECT_EQ(good.spoiled([](auto& m) { m.slots[1].place = 2; }),
            "lease grant: place = 2: expected one that rank 1 hosts");
  EXPECT_EQ(good.spoiled([](auto& m) { m.slots[0].place = 10; }),
            "lease grant: place = 10: expected 0 to 9");
  EXPECT_THAT(good.spoiled([](auto& m) { m.flow = FlowId(); }), StartsWith("lease grant: flow"));
  // What is beyond `count` does not matter.
  EXPECT_EQ(good.spoiled([](auto& m) { m.slots[2].slot = 77; }), "");
  EXPECT_THAT(good.to(4), StartsWith("lease grant: sender = 1: "));
}

TEST(MessageCheck, MessagesAboutAFlow) {
  FlowMessage message;
  message.operation = kDirectPair;
  message.flow = FlowId(0);
  for (const auto& [kind, name, sender, receiver] :
       {std::tuple(MessageKind::kLeaseCancel, "lease cancel", 0, 1),
        std::tuple(MessageKind::kFlowSent, "flow sent", 1, 0),
        std::tuple(MessageKind::kDelivered, "delivered", 0, 2)}) {
    message.kind = kind;
    const Good<FlowMessage> good(message, sender, receiver);
    EXPECT_THAT(good.spoiled([](auto& m) { m.flow = FlowId(-1); }),
                StartsWith(std::string(name) + ": flow = -1: "));
    EXPECT_THAT(good.spoiled([](auto& m) { m.operation.target = 99; }),
                StartsWith(std::string(name) + ": operation = "));
    EXPECT_THAT(good.from(4), StartsWith(std::string(name) + ": sender = 4: "));
  }
  message.kind = MessageKind::kDelivered;
  EXPECT_THAT(wrong(pack(message), 0, 3), StartsWith("delivered: operation = "));
  // kStopped names no flow and may come from another node.
  message.kind = MessageKind::kStopped;
  message.flow = FlowId();
  const Good<FlowMessage> stopped(message, 4, 2);
  EXPECT_THAT(stopped.spoiled([](auto& m) { m.operation.source = 99; }),
              StartsWith("stopped: operation = "));
}

TEST(MessageCheck, MessagesAboutASlot) {
  SlotMessage message;
  message.slot = {.slot = 3, .place = 1, .generation = 1};
  message.kind = MessageKind::kSlotReturn;
  const Good<SlotMessage> returned(message, 0, 1);
  EXPECT_EQ(returned.spoiled([](auto& m) { m.slot.slot = 4; }),
            "slot return: slot = 4: expected 0 to 3");
  EXPECT_THAT(returned.to(2), StartsWith("slot return: place = 1: "));
  EXPECT_THAT(returned.from(4), StartsWith("slot return: sender = 4: "));
  message.kind = MessageKind::kPulled;
  message.slot.slot = 5;
  const Good<SlotMessage> pulled(message, 0, 1);
  EXPECT_EQ(pulled.spoiled([](auto& m) { m.slot.slot = 6; }), "pulled: slot = 6: expected 0 to 5");
  EXPECT_THAT(pulled.spoiled([](auto& m) { m.slot.place = 999; }),
              StartsWith("pulled: place = 999: "));
}

Descriptor chunk(MessageKind kind, std::uint16_t slot, std::uint16_t place) {
  Descriptor descriptor;
  descriptor.kind = static_cast<std::uint8_t>(kind);
  descriptor.slot = slot;
  descriptor.place = place;
  descriptor.generation = 1;
  descriptor.operation = kPair;
  descriptor.size_bytes = 4096;
  descriptor.local_targets[0] = 0b0001;
  return descriptor;
}

/// What is the same wherever a chunk is; `spoiled` gives the text for a spoiled descriptor.
void expect_chunk_is_checked(
    const std::string& name,
    const std::function<std::string(const std::function<void(Descriptor&)>&)>& spoiled) {
  const auto expect = [&](const std::string& field, const std::function<void(Descriptor&)>& spoil) {
    EXPECT_THAT(spoiled(spoil), StartsWith(name + ": " + field + " = "));
  };
  expect("class", [](Descriptor& d) { d.traffic_class = 7; });
  expect("operation", [](Descriptor& d) { d.operation.target = 8; });
  expect("flow", [](Descriptor& d) { d.flow = 0x80000000U; });
  expect("chunk", [](Descriptor& d) { d.chunk = 0xffffffffU; });
  expect("size", [](Descriptor& d) { d.size_bytes = 0; });
  expect("size", [](Descriptor& d) { d.size_bytes = 4097; });
  expect("target offset", [](Descriptor& d) { d.target_offset = ~std::uint64_t{0}; });
  expect("slot", [](Descriptor& d) { d.slot = 6; });
  expect("place", [](Descriptor& d) { d.place = 10; });
  expect("place", [](Descriptor& d) { d.place = 3; });
}

TEST(MessageCheck, Staged) {
  const Good<Descriptor> good(chunk(MessageKind::kStaged, 3, 1), 0, 1);
  expect_chunk_is_checked("staged", [&](const auto& spoil) { return good.spoiled(spoil); });
  EXPECT_EQ(good.spoiled([](auto& d) { d.slot = 4; }), "staged: slot = 4: expected 0 to 3");
  EXPECT_THAT(good.from(4), StartsWith("staged: sender = 4: "));
}

TEST(MessageCheck, Landed) {
  const Good<Descriptor> good(chunk(MessageKind::kLanded, 5, 5), 5, 4);
  expect_chunk_is_checked("landed", [&](const auto& spoil) { return good.spoiled(spoil); });
  EXPECT_EQ(good.spoiled([](auto& d) { d.local_targets[0] = 0; }),
            "landed: local targets = none: expected at least one");
  EXPECT_EQ(good.spoiled([](auto& d) { d.local_targets[0] = 0b10001; }),
            "landed: local target = 4: expected one of the 4 ranks of node 1");
  EXPECT_THAT(good.spoiled([](auto& d) { d.local_targets[2] = 1U << 31; }),
              StartsWith("landed: local target = 95: "));
  EXPECT_EQ(good.to(6), "landed: receiver = 6: expected one of the local targets");
}

TEST(MessageCheck, CreditCounts) {
  CreditCountMessage message;
  message.send_nic = NicId(1);
  message.receive_nic = NicId(5);
  message.count = 4;
  for (const auto kind : {MessageKind::kCreditRequest, MessageKind::kCreditCancel}) {
    message.kind = kind;
    const std::string name(to_string(kind));
    const Good<CreditCountMessage> good(message, 1, 5);
    EXPECT_THAT(good.spoiled([](auto& m) { m.count = 0; }), StartsWith(name + ": count = 0: "));
    EXPECT_THAT(good.spoiled([](auto& m) { m.send_nic = NicId(99); }),
                StartsWith(name + ": send NIC = 99: "));
    EXPECT_THAT(good.spoiled([](auto& m) { m.receive_nic = NicId(2); }),
                StartsWith(name + ": receive NIC = 2: "));
    EXPECT_THAT(good.from(2), StartsWith(name + ": send NIC = 1: "));
    EXPECT_THAT(good.to(6), StartsWith(name + ": receive NIC = 5: "));
  }
}

TEST(MessageCheck, Credits) {
  CreditMessage message;
  message.send_nic = NicId(1);
  message.receive_nic = NicId(5);
  message.count = 1;
  message.slots[0] = {.slot = 5, .place = 5, .generation = 1};
  for (const auto& [kind, sender, receiver] :
       {std::tuple(MessageKind::kCredit, 5, 1), std::tuple(MessageKind::kCreditReturn, 1, 5)}) {
    message.kind = kind;
    const std::string name(to_string(kind));
    const Good<CreditMessage> good(message, sender, receiver);
    EXPECT_EQ(good.spoiled([](auto& m) { m.count = 7; }), name + ": count = 7: expected 1 to 6");
    EXPECT_EQ(good.spoiled([](auto& m) { m.count = 0; }), name + ": count = 0: expected 1 to 6");
    EXPECT_EQ(good.spoiled([](auto& m) { m.slots[0].slot = 6; }),
              name + ": slot = 6: expected 0 to 5");
    EXPECT_THAT(good.spoiled([](auto& m) { m.slots[0].place = 6; }),
                StartsWith(name + ": place = 6: "));
    // The other way round it is not theirs to say.
    EXPECT_NE(wrong(pack(message), receiver, sender), "");
  }
}

TEST(MessageCheck, CreditsAreForTheSlotsOfTheirNic) {
  // One rank hosts all places of its node.
  const Topology few = topology().with_ranks(2);
  CreditMessage message;
  message.send_nic = NicId(1);
  message.receive_nic = NicId(5);
  message.count = 1;
  message.slots[0] = {.slot = 0, .place = 5, .generation = 1};
  EXPECT_EQ(wrong_with(pack(message), Rank(1), Rank(0), few, kSlots), "");
  message.slots[0].place = 6;
  EXPECT_EQ(wrong_with(pack(message), Rank(1), Rank(0), few, kSlots),
            "credit: place = 6: expected that of the receive NIC");
}

TEST(MessageCheck, Failed) {
  FailedMessage message;
  message.cause = Cause::kTimeout;
  message.operation = kCollective;
  message.rank = Rank(7);
  const Good<FailedMessage> bare(message, 7, 0);
  message.peer = Rank(0);
  message.flow = FlowId(1);
  message.chunk = 12;
  message.link.kind = LinkName::Kind::kNicPair;
  message.link.first = 1;
  message.link.second = 5;
  const Good<FailedMessage> good(message, 7, 0);
  const auto as_cause = [](int value) { return static_cast<Cause>(value); };
  EXPECT_THAT(good.spoiled([&](auto& m) { m.cause = as_cause(0); }),
              StartsWith("failed: cause = 0: "));
  EXPECT_THAT(good.spoiled([&](auto& m) { m.cause = as_cause(200); }),
              StartsWith("failed: cause = 200: "));
  EXPECT_THAT(good.spoiled([](auto& m) { m.rank = Rank(); }), StartsWith("failed: rank = -1: "));
  EXPECT_THAT(good.spoiled([](auto& m) { m.peer = Rank(8); }), StartsWith("failed: peer = 8: "));
  EXPECT_THAT(good.spoiled([](auto& m) { m.flow = FlowId(-2); }),
              StartsWith("failed: flow = -2: "));
  EXPECT_THAT(good.spoiled([](auto& m) { m.chunk = -2; }), StartsWith("failed: chunk = -2: "));
  EXPECT_THAT(good.spoiled([](auto& m) { m.link.second = 8; }),
              StartsWith("failed: receiving NIC of the link = 8: "));
  EXPECT_EQ(good.spoiled([](auto& m) { m.link.kind = static_cast<LinkName::Kind>(9); }),
            "failed: kind of the link = 9: expected a known one");
  EXPECT_THAT(good.spoiled([](auto& m) {
    m.link.kind = LinkName::Kind::kCopyLane;
    m.link.copy_class = 3;
  }),
              StartsWith("failed: copy class of the link = 3: "));
  EXPECT_THAT(good.spoiled([](auto& m) {
    m.link.kind = LinkName::Kind::kCopyLane;
    m.link.first = 256;
  }),
              StartsWith("failed: lane of the link = 256: "));
}

TEST(MessageCheck, Arrival) {
  Arrived good;
  good.local_nic = NicId(5);
  good.remote_nic = NicId(1);
  good.immediate = 5;
  good.descriptor = chunk(MessageKind::kStaged, 5, 5);
  const auto spoiled = [&](const std::function<void(Arrived&)>& spoil) {
    Arrived arrival = good;
    spoil(arrival);
    return wrong_with(arrival, Rank(1), Rank(5), topology(), kSlots);
  };
  EXPECT_EQ(spoiled([](Arrived&) {}), "");
  expect_chunk_is_checked("arrival", [&](const auto& spoil) {
    return spoiled([&](Arrived& a) { spoil(a.descriptor); });
  });
  EXPECT_THAT(spoiled([](Arrived& a) { a.local_nic = NicId(8); }),
              StartsWith("arrival: receive NIC = 8: "));
  EXPECT_THAT(spoiled([](Arrived& a) { a.remote_nic = NicId(-1); }),
              StartsWith("arrival: send NIC = -1: "));
  EXPECT_EQ(spoiled([](Arrived& a) { a.remote_nic = NicId(6); }),
            "arrival: receive NIC = 5: expected one on another node than the send NIC");
  EXPECT_EQ(spoiled([](Arrived& a) { a.immediate = 4; }),
            "arrival: immediate = 4: expected 5, the slot");
  EXPECT_THAT(spoiled([](Arrived& a) { a.descriptor.local_targets = {}; }),
              StartsWith("arrival: local targets = none: "));
  EXPECT_THAT(spoiled([](Arrived& a) { a.descriptor.kind = 0; }),
              StartsWith("arrival: kind = 0: "));
  EXPECT_THAT(wrong_with(good, Rank(1), Rank(4), topology(), kSlots),
              StartsWith("arrival: receive NIC = "));
  EXPECT_THAT(wrong_with(good, Rank(2), Rank(5), topology(), kSlots),
              StartsWith("arrival: send NIC = "));
}

TEST(MessageCheck, UnknownKinds) {
  for (const int kind : {0, 22, 255}) {
    Message message;
    message.bytes[0] = static_cast<std::byte>(kind);
    EXPECT_EQ(wrong(message, 0, 1),
              "message: kind = " + std::to_string(kind) + ": expected a known one");
  }
  Message message;
  message.bytes[0] = static_cast<std::byte>(MessageKind::kWritten);
  EXPECT_EQ(wrong(message, 0, 1), "written: kind = 21: expected one that comes without a write");
}

TEST(MessageCheck, ArrivalInAUserBuffer) {
  Arrived good;
  good.local_nic = NicId(4);
  good.remote_nic = NicId(0);
  good.descriptor = chunk(MessageKind::kWritten, 0, 0);
  const auto spoiled = [&](const std::function<void(Arrived&)>& spoil) {
    Arrived arrival = good;
    spoil(arrival);
    return wrong_with(arrival, Rank(0), Rank(4), topology(), kSlots);
  };
  EXPECT_EQ(spoiled([](Arrived&) {}), "");
  EXPECT_THAT(spoiled([](Arrived& a) { a.descriptor.flow = 1U << 31; }),
              StartsWith("arrival: flow = "));
  EXPECT_EQ(spoiled([](Arrived& a) { a.remote_nic = NicId(2); }),
            "arrival: send NIC = 2: expected one next to the GPU of rank 0");
  EXPECT_EQ(spoiled([](Arrived& a) { a.local_nic = NicId(6); }),
            "arrival: receive NIC = 6: expected one next to the GPU of rank 4");
}

TEST(MessageCheck, SurvivesGarbageAndTellsItInOneLine) {
  Random random(1);
  int passed = 0;
  constexpr int kMessages = 20000;
  for (int i = 0; i < kMessages; ++i) {
    Message message;
    for (std::byte& byte : message.bytes) byte = static_cast<std::byte>(random.between(0, 255));
    message.bytes[0] = static_cast<std::byte>(random.between(0, 21));
    const auto rank = [&] { return static_cast<int>(random.between(-1, 8)); };
    const std::string text = wrong(message, rank(), rank());
    EXPECT_EQ(text.find('\n'), std::string::npos);
    passed += text.empty() ? 1 : 0;
    Arrived arrival;
    arrival.descriptor = unpack<Descriptor>(message);
    arrival.local_nic = NicId(random.between(-2, 9));
    arrival.remote_nic = NicId(random.between(-2, 9));
    EXPECT_NE(wrong_with(arrival, Rank(rank()), Rank(rank()), topology(), kSlots), "");
  }
  EXPECT_EQ(passed, 0);
}

}  // namespace
}  // namespace hoccl::engine
