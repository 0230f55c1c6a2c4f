#include "engine/pipeline/field_check.h"

#include <bit>
#include <limits>

#include "engine/schedule/plan.h"

namespace hoccl::engine {

FieldCheck::FieldCheck(std::string_view name, Rank sender, Rank receiver, const Topology& topology,
                       const SlotSupply& slots)
    : name_(name), sender_(sender), receiver_(receiver), topology_(topology), slots_(slots) {
  check_rank("sender", sender);
  check_rank("receiver", receiver);
}

void FieldCheck::check_rank(std::string_view field, Rank rank) {
  expect_within(field, rank.value(), 0, topology_.rank_count() - 1);
}

void FieldCheck::check_nic(std::string_view field, NicId nic) {
  expect_within(field, nic.value(), 0, topology_.nic_count() - 1);
}

void FieldCheck::check_flow(std::int64_t flow) {
  expect_within("flow", flow, 0, std::numeric_limits<FlowId::value_type>::max());
}

void FieldCheck::check_operation(const OperationId& operation) {
  const bool collective =
      operation.source == OperationId::kCollective && operation.target == OperationId::kCollective;
  const auto is_rank = [&](std::uint16_t rank) { return rank < topology_.rank_count(); };
  expect(collective || (is_rank(operation.source) && is_rank(operation.target)), "operation",
         operation, "a collective or one between two ranks");
  expect(operation.reserved == 0, "reserved field of the operation", operation.reserved, "0");
}

void FieldCheck::check_ends(const OperationId& operation, Rank source, Rank target) {
  if (operation.source == OperationId::kCollective) return;
  expect(operation.source == source.value() && operation.target == target.value(), "operation",
         operation, "one from rank {} to rank {}", source, target);
}

void FieldCheck::check_send_slot(const SlotReference& slot, Rank host) {
  check_slot(slot, slots_.send_slots, host);
}

void FieldCheck::check_receive_slot(const SlotReference& slot, Rank host) {
  check_slot(slot, slots_.receive_slots, host);
}

void FieldCheck::check_slot(const SlotReference& slot, std::int32_t count, Rank host) {
  expect_within("place", slot.place, 0, topology_.place_count() - 1);
  if (!ok()) return;
  expect(topology_.host_of(PlaceId(slot.place)) == host, "place", slot.place,
         "one that rank {} hosts", host);
  expect_within("slot", slot.slot, 0, count - 1);
}

void FieldCheck::check_nics(NicId send, NicId receive) {
  check_nic("send NIC", send);
  check_nic("receive NIC", receive);
  if (!ok()) return;
  expect(topology_.nic(send).node != topology_.nic(receive).node, "receive NIC", receive,
         "one on another node than the send NIC");
}

void FieldCheck::check_host(std::string_view field, NicId nic, Rank host) {
  if (!ok()) return;
  expect(topology_.host_of(topology_.place_of(nic)) == host, field, nic,
         "one whose slots rank {} hosts", host);
}

void FieldCheck::check_same_node() {
  if (!ok()) return;
  expect(topology_.node_of(sender_) == topology_.node_of(receiver_), "sender", sender_,
         "a rank of the receiver's node");
}

void FieldCheck::check_chunk(const Descriptor& descriptor, MessageKind kind) {
  expect(descriptor.kind == static_cast<std::uint8_t>(kind), "kind", descriptor.kind, "{}",
         static_cast<int>(kind));
  expect_within("class", descriptor.traffic_class, 0, 1);
  check_operation(descriptor.operation);
  check_flow(descriptor.flow);
  expect_within("chunk", descriptor.chunk, 0, kMaxChunksPerTransfer - 1);
  expect_within("size", descriptor.size_bytes, 1, slots_.slot_size.count());
  expect_within("target offset", descriptor.target_offset, 0, kMaxMessageSize.count());
}

void FieldCheck::check_place(PlaceId place, Rank host) {
  expect_within("place", place.value(), 0, topology_.place_count() - 1);
  if (!ok()) return;
  expect(topology_.host_of(place) == host, "place", place, "one that rank {} hosts", host);
}

void FieldCheck::check_local_targets(const std::array<std::uint32_t, 3>& local_targets,
                                     NodeId node) {
  const auto ranks = static_cast<int>(topology_.ranks_of(node).size());
  bool any = false;
  for (std::size_t word = 0; word < local_targets.size(); ++word) {
    for (std::uint32_t left = local_targets.at(word); left != 0; left &= left - 1) {
      const int bit = static_cast<int>(word) * 32 + std::countr_zero(left);
      any = true;
      expect(bit < ranks, "local target", bit, "one of the {} ranks of node {}", ranks, node);
    }
  }
  expect(any, "local targets", "none", "at least one");
}

bool is_local_target(const std::array<std::uint32_t, 3>& local_targets, int local_index) {
  const auto bit = static_cast<std::size_t>(local_index);
  return (local_targets.at(bit / 32) >> (bit % 32) & 1U) != 0;
}

}  // namespace hoccl::engine
