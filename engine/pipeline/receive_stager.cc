#include "engine/pipeline/receive_stager.h"

#include <algorithm>
#include <utility>

#include "engine/base/check.h"
#include "engine/topology/topology.h"

namespace hoccl::engine {

ReceiveStager::ReceiveStager(Port& port) : port_(port) {}

ReceiveStager::Pool& ReceiveStager::pool_of(PlaceId place) {
  const auto existing = pools_.find(place);
  if (existing != pools_.end()) return existing->second;
  const StagingPlace& staging = port_.staging(place);
  SlotPool<Slot> slots(staging, port_.rank(), staging.receive_slot_count);
  return pools_.emplace(place, Pool{std::move(slots), {}}).first->second;
}

ReceiveStager::Demand& ReceiveStager::demand_of(NicId send_nic, NicId receive_nic) {
  const auto [entry, is_new] = demands_.try_emplace({send_nic, receive_nic});
  Demand& demand = entry->second;
  if (is_new) {
    const Topology& topology = port_.topology();
    demand.send_nic = send_nic;
    demand.receive_nic = receive_nic;
    demand.send_host = topology.host_of(topology.place_of(send_nic));
    demand.pool = &pool_of(topology.place_of(receive_nic));
  }
  return demand;
}

void ReceiveStager::credits_requested(const CreditCountMessage& message) {
  Demand& demand = demand_of(message.send_nic, message.receive_nic);
  HOCCL_CHECK(message.count > 0, "{} credits requested", message.count);
  if (demand.wanted == 0) demand.pool->turns.push_back(&demand);
  demand.wanted += message.count;
}

void ReceiveStager::credits_cancelled(const CreditCountMessage& message) {
  Demand& demand = demand_of(message.send_nic, message.receive_nic);
  // What was promised meanwhile comes back as kCreditReturn.
  const bool waited = demand.wanted > 0;
  demand.wanted -= std::min<std::int64_t>(demand.wanted, message.count);
  if (waited && demand.wanted == 0) std::erase(demand.pool->turns, &demand);
}

void ReceiveStager::credit_returned(const CreditMessage& message) {
  Demand& demand = demand_of(message.send_nic, message.receive_nic);
  HOCCL_CHECK(message.count <= CreditMessage::kCapacity, "{} credits in a message", message.count);
  for (std::size_t i = 0; i < message.count; ++i) {
    demand.pool->slots.at(message.slots[i]);
    release(*demand.pool, message.slots[i].slot, ReceiveEvent::kRevoke);
  }
}

void ReceiveStager::release(Pool& pool, std::uint16_t index, ReceiveEvent event) {
  Slot& slot = pool.slots[index];
  slot.state = advance(slot.state, event);
  slot.promised_to = nullptr;
  slot.waiting_for.clear();
  pool.slots.give_back(index);
}

void ReceiveStager::arrived(const Arrived& arrival) {
  const Topology& topology = port_.topology();
  // Its slots were taken back when it was lost, and may be promised to others by now.
  if (lost_.contains(topology.host_of(topology.place_of(arrival.remote_nic)))) return;
  const PlaceId place = topology.place_of(arrival.local_nic);
  Pool& pool = pool_of(place);
  const Descriptor& descriptor = arrival.descriptor;
  HOCCL_CHECK(arrival.immediate == descriptor.slot && PlaceId(descriptor.place) == place,
              "immediate {} but descriptor of slot {} at place {}", arrival.immediate,
              descriptor.slot, descriptor.place);
  Slot& slot = pool.slots.at({descriptor.slot, descriptor.place, descriptor.generation});
  port_.account(CpuWork::kBookkeeping, 1);
  slot.state = advance(slot.state, ReceiveEvent::kArrive);
  slot.promised_to = nullptr;
  slot.descriptor = descriptor;
  const auto ranks = topology.ranks_of(topology.node_of(place));
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if ((descriptor.local_targets[i / 32] >> (i % 32) & 1U) != 0)
      slot.waiting_for.push_back(ranks[i]);
  }
  HOCCL_CHECK(!slot.waiting_for.empty(), "operation {} flow {} chunk {} has no local target",
              descriptor.operation, descriptor.flow, descriptor.chunk);
  slot.state = advance(slot.state, ReceiveEvent::kAnnounce);
  std::erase_if(slot.waiting_for, [this](Rank target) { return lost_.contains(target); });
  if (slot.waiting_for.empty()) {
    release(pool, descriptor.slot, ReceiveEvent::kRevoke);
    return;
  }
  Descriptor landed = descriptor;
  landed.kind = static_cast<std::uint8_t>(MessageKind::kLanded);
  for (const Rank target : slot.waiting_for) port_.post_message(target, pack(landed));
}

void ReceiveStager::pulled(Rank target, const SlotReference& reference) {
  Pool& pool = pool_of(PlaceId(reference.place));
  Slot& slot = pool.slots.at(reference);
  HOCCL_CHECK(slot.state == ReceiveState::kDelivering, "receive slot {} was pulled in state {}",
              reference.slot, to_string(slot.state));
  HOCCL_CHECK(std::erase(slot.waiting_for, target) == 1, "rank {} pulled receive slot {} twice",
              target, reference.slot);
  if (slot.waiting_for.empty()) release(pool, reference.slot, ReceiveEvent::kPulled);
}

void ReceiveStager::act() {
  for (auto& [place, pool] : pools_) promise_slots(pool);
}

void ReceiveStager::promise_slots(Pool& pool) {
  while (pool.slots.has_free() && !pool.turns.empty()) {
    Demand& demand = *pool.turns.front();
    pool.turns.pop_front();
    const SlotReference taken = pool.slots.take();
    Slot& slot = pool.slots[taken.slot];
    slot.state = advance(slot.state, ReceiveEvent::kCredit);
    slot.promised_to = &demand;
    port_.account(CpuWork::kBookkeeping, 1);
    demand.wanted -= 1;
    if (demand.wanted > 0) pool.turns.push_back(&demand);
    if (demand.credit.count == 0) crediting_.push_back(&demand);
    demand.credit.slots[demand.credit.count++] = taken;
    if (demand.credit.count == CreditMessage::kCapacity) {
      send_credit(demand);
      std::erase(crediting_, &demand);
    }
  }
  for (Demand* demand : crediting_) send_credit(*demand);
  crediting_.clear();
}

void ReceiveStager::send_credit(Demand& demand) {
  demand.credit.kind = MessageKind::kCredit;
  demand.credit.send_nic = demand.send_nic;
  demand.credit.receive_nic = demand.receive_nic;
  port_.post_message(demand.send_host, pack(demand.credit));
  demand.credit.count = 0;
}

void ReceiveStager::peer_lost(Rank peer) {
  lost_.insert(peer);
  for (auto& [nics, demand] : demands_) {
    if (demand.send_host != peer) continue;
    if (demand.wanted > 0) std::erase(demand.pool->turns, &demand);
    demand.wanted = 0;
  }
  for (auto& [place, pool] : pools_) {
    for (std::size_t i = 0; i < pool.slots.size(); ++i) {
      Slot& slot = pool.slots[i];
      const auto index = static_cast<std::uint16_t>(i);
      if (slot.state == ReceiveState::kCredited && slot.promised_to->send_host == peer) {
        release(pool, index, ReceiveEvent::kRevoke);
      } else if (slot.state == ReceiveState::kDelivering &&
                 std::erase(slot.waiting_for, peer) > 0 && slot.waiting_for.empty()) {
        release(pool, index, ReceiveEvent::kRevoke);
      }
    }
  }
}

bool ReceiveStager::quiescent() const {
  for (const auto& [place, pool] : pools_) {
    if (!pool.slots.all_free() || !pool.turns.empty()) return false;
  }
  return true;
}

}  // namespace hoccl::engine
