#include "engine/pipeline/message_check.h"

#include <fmt/format.h>

#include <limits>

#include "engine/pipeline/field_check.h"
#include "engine/pipeline/messages.h"
#include "engine/pipeline/stage_barrier.h"
#include "engine/schedule/plan.h"

namespace hoccl::engine {
namespace {

constexpr std::int32_t kMaxCount = std::numeric_limits<std::int32_t>::max();

// By kind of message. Sender and receiver are ranks.

void check(FieldCheck& fields, const ReadyMessage& message) {
  fields.expect_within("access", static_cast<int>(message.access), 0,
                       static_cast<int>(BufferAccess::kRefused));
  fields.check_operation(message.operation);
  fields.check_ends(message.operation, fields.receiver(), fields.sender());
  fields.expect_within("message size", message.message_size_bytes, 0, kMaxMessageSize.count());
  fields.expect_within("offset", message.offset, 0, kMaxMessageSize.count());
  // Between nodes nothing is exported.
  if (message.access == BufferAccess::kRefused) fields.check_same_node();
  if (message.access != BufferAccess::kOpen) return;
  fields.expect(message.buffer.owner == fields.sender(), "owner of the buffer",
                message.buffer.owner, "rank {}, the sender", fields.sender());
  fields.expect_within("buffer", message.buffer.id, 0, kMaxCount);
}

void check_relayed(FieldCheck& fields, const LeaseRequestMessage& message) {
  fields.expect(message.receive_nic.is_none(), "receive NIC", message.receive_nic, "none");
  fields.expect(message.branches == 0, "branches", message.branches, "0");
  if (!fields.ok()) return;
  fields.expect(
      fields.topology().node_of(message.target) == fields.topology().node_of(message.place),
      "target", message.target, "a rank of the place's node");
}

void check(FieldCheck& fields, const LeaseRequestMessage& message) {
  fields.expect_within("class", message.traffic_class, 0, 1);
  fields.check_operation(message.operation);
  fields.check_ends(message.operation, fields.sender(), message.target);
  fields.check_flow(message.flow.value());
  fields.check_rank("target", message.target);
  fields.check_same_node();
  fields.expect_within("total", message.total, 1, kMaxCount);
  // What comes next counts with it.
  if (!fields.ok()) return;
  fields.expect_within("first", message.first, 0, message.total - 1);
  if (!fields.ok()) return;
  fields.expect_within("chunks", message.chunks, 1, message.total - message.first);
  fields.check_place(message.place, fields.receiver());
  if (message.send_nic.is_none()) return check_relayed(fields, message);
  fields.check_nics(message.send_nic, message.receive_nic);
  fields.check_host("send NIC", message.send_nic, fields.receiver());
  fields.expect_within("branches", message.branches, 0, kMaxBranches);
  if (!fields.ok()) return;
  const Topology& topology = fields.topology();
  fields.expect(topology.place_of(message.send_nic) == message.place, "place", message.place,
                "that of the send NIC");
  fields.expect(topology.nic(message.receive_nic).node == topology.node_of(message.target),
                "receive NIC", message.receive_nic, "one on the target's node");
}

void check(FieldCheck& fields, const LeaseBranchMessage& message) {
  fields.check_operation(message.operation);
  fields.check_flow(message.flow.value());
  fields.check_rank("target", message.target);
  fields.check_nic("receive NIC", message.receive_nic);
  fields.check_same_node();
  if (!fields.ok()) return;
  const Topology& topology = fields.topology();
  const NodeId node = topology.nic(message.receive_nic).node;
  fields.expect(node == topology.node_of(message.target), "receive NIC", message.receive_nic,
                "one on the target's node");
  fields.expect(node != topology.node_of(fields.receiver()), "receive NIC", message.receive_nic,
                "one on another node");
  fields.check_local_targets(message.local_targets, node);
}

void check(FieldCheck& fields, const CountsMessage& message) {
  fields.check_operation(message.operation);
  fields.expect_within("count", message.count, 1, CountsMessage::kCapacity);
  if (!fields.ok()) return;
  for (std::size_t i = 0; i < message.count; ++i) {
    fields.expect_within("bytes", message.bytes.at(i), 0, kMaxMessageSize.count());
  }
}

void check(FieldCheck& fields, const StageMessage& message) {
  fields.check_operation(message.operation);
  fields.expect_within("stage", message.stage, 0, StageBarrier::kNoMore);
}

void check(FieldCheck& fields, const LeaseGrantMessage& message) {
  fields.check_operation(message.operation);
  fields.check_flow(message.flow.value());
  fields.check_same_node();
  fields.expect_within("count", message.count, 1, LeaseGrantMessage::kCapacity);
  if (!fields.ok()) return;
  for (std::size_t i = 0; i < message.count; ++i) {
    fields.check_send_slot(message.slots.at(i), fields.sender());
  }
}

void check(FieldCheck& fields, const FlowMessage& message) {
  fields.check_operation(message.operation);
  // It is about all flows of the operation, and goes also to ranks of other nodes.
  if (message.kind == MessageKind::kStopped) return;
  fields.check_flow(message.flow.value());
  fields.check_same_node();
  fields.expect_within("chunks", message.chunks, 0, kMaxCount);
  fields.expect_within("chunk", message.chunk, -1, kMaxCount);
  if (message.kind == MessageKind::kDelivered) {
    fields.check_ends(message.operation, fields.sender(), fields.receiver());
  }
}

void check(FieldCheck& fields, const SlotMessage& message) {
  fields.expect_within("pool", message.in_send_slots, 0, 1);
  if (message.kind == MessageKind::kPulled && message.in_send_slots == 0) {
    fields.check_receive_slot(message.slot, fields.receiver());
  } else {
    fields.check_send_slot(message.slot, fields.receiver());
  }
  fields.check_same_node();
}

void check(FieldCheck& fields, const CreditCountMessage& message) {
  fields.check_nics(message.send_nic, message.receive_nic);
  fields.check_host("send NIC", message.send_nic, fields.sender());
  fields.check_host("receive NIC", message.receive_nic, fields.receiver());
  fields.expect_within("count", message.count, 1, kMaxCount);
  fields.expect_within("class", message.traffic_class, 0, 1);
}

void check(FieldCheck& fields, const CreditMessage& message) {
  const bool promises = message.kind == MessageKind::kCredit;
  const Rank send_host = promises ? fields.receiver() : fields.sender();
  const Rank receive_host = promises ? fields.sender() : fields.receiver();
  fields.check_nics(message.send_nic, message.receive_nic);
  fields.check_host("send NIC", message.send_nic, send_host);
  fields.check_host("receive NIC", message.receive_nic, receive_host);
  fields.expect_within("count", message.count, 1, CreditMessage::kCapacity);
  if (!fields.ok()) return;
  const PlaceId place = fields.topology().place_of(message.receive_nic);
  for (std::size_t i = 0; i < message.count; ++i) {
    const SlotReference& slot = message.slots.at(i);
    fields.check_receive_slot(slot, receive_host);
    fields.expect(PlaceId(slot.place) == place, "place", slot.place, "that of the receive NIC");
  }
}

void check(FieldCheck& fields, const LinkName& link) {
  switch (link.kind) {
    case LinkName::Kind::kNone:
    case LinkName::Kind::kExport:
    case LinkName::Kind::kImport:
    case LinkName::Kind::kRegister:
      return;
    case LinkName::Kind::kNicPair:
      fields.check_nic("sending NIC of the link", NicId(link.first));
      fields.check_nic("receiving NIC of the link", NicId(link.second));
      return;
    case LinkName::Kind::kCopyLane:
      fields.expect_within("copy class of the link", link.copy_class, 0, kCopyClassCount - 1);
      fields.expect_within("lane of the link", link.first, 0,
                           int{std::numeric_limits<std::uint8_t>::max()});
      return;
  }
  fields.expect(false, "kind of the link", static_cast<int>(link.kind), "a known one");
}

void check(FieldCheck& fields, const FailedMessage& message) {
  fields.expect_within("cause", static_cast<int>(message.cause), static_cast<int>(Cause::kNone) + 1,
                       static_cast<int>(Cause::kSizeMismatch));
  fields.check_operation(message.operation);
  fields.check_rank("rank", message.rank);
  if (!message.peer.is_none()) fields.check_rank("peer", message.peer);
  if (!message.flow.is_none()) fields.check_flow(message.flow.value());
  fields.expect_within("chunk", message.chunk, -1, kMaxChunksPerTransfer);
  check(fields, message.link);
}

SlotReference slot_of(const Descriptor& descriptor) {
  return {descriptor.slot, descriptor.place, descriptor.generation};
}

void check_staged(FieldCheck& fields, const Descriptor& descriptor) {
  fields.check_chunk(descriptor, MessageKind::kStaged);
  fields.check_send_slot(slot_of(descriptor), fields.receiver());
  fields.check_same_node();
}

void check_landed(FieldCheck& fields, const Descriptor& descriptor) {
  const Topology& topology = fields.topology();
  fields.check_chunk(descriptor, MessageKind::kLanded);
  fields.expect_within("pool", descriptor.in_send_slots, 0, 1);
  if (descriptor.in_send_slots != 0) {
    fields.check_send_slot(slot_of(descriptor), fields.sender());
  } else {
    fields.check_receive_slot(slot_of(descriptor), fields.sender());
  }
  fields.check_same_node();
  fields.check_local_targets(descriptor.local_targets, topology.node_of(fields.receiver()));
  fields.expect(is_local_target(descriptor.local_targets, topology.local_index(fields.receiver())),
                "receiver", fields.receiver(), "one of the local targets");
}

/// A chunk in a user buffer: it came out of the sender's GPU, and no slot is meant.
void check_written(FieldCheck& fields, const Arrived& arrival) {
  const Topology& topology = fields.topology();
  const Descriptor& descriptor = arrival.descriptor;
  fields.check_chunk(descriptor, MessageKind::kWritten);
  fields.check_ends(descriptor.operation, fields.sender(), fields.receiver());
  if (!fields.ok()) return;
  fields.expect(topology.nic(arrival.remote_nic).gpu == topology.gpu_of(fields.sender()),
                "send NIC", arrival.remote_nic, "one next to the GPU of rank {}", fields.sender());
  fields.expect(topology.nic(arrival.local_nic).gpu == topology.gpu_of(fields.receiver()),
                "receive NIC", arrival.local_nic, "one next to the GPU of rank {}",
                fields.receiver());
}

void check_arrived(FieldCheck& fields, const Arrived& arrival) {
  const Topology& topology = fields.topology();
  const Descriptor& descriptor = arrival.descriptor;
  fields.check_nics(arrival.remote_nic, arrival.local_nic);
  if (descriptor.kind == static_cast<std::uint8_t>(MessageKind::kWritten)) {
    return check_written(fields, arrival);
  }
  fields.check_host("send NIC", arrival.remote_nic, fields.sender());
  fields.check_host("receive NIC", arrival.local_nic, fields.receiver());
  fields.check_chunk(descriptor, MessageKind::kStaged);
  fields.check_receive_slot(slot_of(descriptor), fields.receiver());
  if (!fields.ok()) return;
  fields.expect(PlaceId(descriptor.place) == topology.place_of(arrival.local_nic), "place",
                descriptor.place, "that of the receive NIC");
  fields.expect(arrival.immediate == descriptor.slot, "immediate", arrival.immediate,
                "{}, the slot", descriptor.slot);
  fields.check_local_targets(descriptor.local_targets, topology.nic(arrival.local_nic).node);
}

void check_message(FieldCheck& fields, const Message& message) {
  switch (kind_of(message)) {
    case MessageKind::kReady:
      return check(fields, unpack<ReadyMessage>(message));
    case MessageKind::kLeaseRequest:
      return check(fields, unpack<LeaseRequestMessage>(message));
    case MessageKind::kLeaseGrant:
      return check(fields, unpack<LeaseGrantMessage>(message));
    case MessageKind::kLeaseCancel:
    case MessageKind::kFlowSent:
    case MessageKind::kDelivered:
    case MessageKind::kStopped:
      return check(fields, unpack<FlowMessage>(message));
    case MessageKind::kSlotReturn:
    case MessageKind::kPulled:
      return check(fields, unpack<SlotMessage>(message));
    case MessageKind::kStaged:
      return check_staged(fields, unpack<Descriptor>(message));
    case MessageKind::kLanded:
      return check_landed(fields, unpack<Descriptor>(message));
    case MessageKind::kCreditRequest:
    case MessageKind::kCreditCancel:
      return check(fields, unpack<CreditCountMessage>(message));
    case MessageKind::kCredit:
    case MessageKind::kCreditReturn:
      return check(fields, unpack<CreditMessage>(message));
    case MessageKind::kLeaseBranch:
      return check(fields, unpack<LeaseBranchMessage>(message));
    case MessageKind::kCounts:
      return check(fields, unpack<CountsMessage>(message));
    case MessageKind::kStageDone:
    case MessageKind::kStageOpen:
      return check(fields, unpack<StageMessage>(message));
    case MessageKind::kFailed:
      return check(fields, unpack<FailedMessage>(message));
    case MessageKind::kWritten:
      fields.expect(false, "kind", static_cast<int>(kind_of(message)),
                    "one that comes without a write");
      return;
  }
  fields.expect(false, "kind", static_cast<int>(kind_of(message)), "a known one");
}

}  // namespace

std::string wrong_with(const Message& message, Rank sender, Rank receiver, const Topology& topology,
                       const SlotSupply& slots) {
  FieldCheck fields(to_string(kind_of(message)), sender, receiver, topology, slots);
  if (fields.ok()) check_message(fields, message);
  return fields.found();
}

std::string wrong_with(const Arrived& arrival, Rank sender, Rank receiver, const Topology& topology,
                       const SlotSupply& slots) {
  FieldCheck fields("arrival", sender, receiver, topology, slots);
  if (fields.ok()) check_arrived(fields, arrival);
  return fields.found();
}

}  // namespace hoccl::engine
