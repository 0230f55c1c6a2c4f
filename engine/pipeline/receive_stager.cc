#include "engine/pipeline/receive_stager.h"

#include <algorithm>
#include <utility>

#include "engine/base/check.h"
#include "engine/pipeline/interleave.h"
#include "engine/topology/topology.h"

namespace hoccl::engine {

ReceiveStager::ReceiveStager(Port& port, const PipelineOptions& options)
    : port_(port), options_(options) {}

ReceiveStager::Pool& ReceiveStager::pool_of(PlaceId place) {
  const auto existing = pools_.find(place);
  if (existing != pools_.end()) return existing->second;
  const StagingPlace& staging = port_.staging(place);
  SlotPool<Slot> slots(staging, port_.rank(), staging.receive_slot_count);
  return pools_.emplace(place, Pool{std::move(slots), {}, {}, {}, 0, 0, {}}).first->second;
}

ReceiveStager::Demand& ReceiveStager::demand_of(const CreditCountMessage& message) {
  const auto flow_class = static_cast<FlowClass>(message.traffic_class);
  const auto [entry, is_new] = demands_.try_emplace(
      {message.send_nic, message.receive_nic, flow_class, message.communicator, message.stage});
  Demand& demand = entry->second;
  if (is_new) {
    const Topology& topology = port_.topology();
    demand.send_nic = message.send_nic;
    demand.receive_nic = message.receive_nic;
    demand.flow_class = flow_class;
    demand.communicator = message.communicator;
    demand.stage = message.stage;
    demand.send_host = topology.host_of(topology.place_of(message.send_nic));
    demand.pool = &pool_of(topology.place_of(message.receive_nic));
  }
  return demand;
}

/// Those who want anything take turns.
void ReceiveStager::set_wanted(Demand& demand, std::int64_t wanted) {
  auto& communicators = demand.pool->turns[static_cast<std::size_t>(demand.flow_class)];
  if (demand.wanted == 0 && wanted > 0) {
    communicators[demand.communicator][demand.stage].push_back(&demand);
  }
  if (demand.wanted > 0 && wanted == 0) {
    auto& stages = communicators.at(demand.communicator);
    std::erase(stages.at(demand.stage), &demand);
    demand.promised = 0;
    if (stages.at(demand.stage).empty()) stages.erase(demand.stage);
    if (stages.empty()) communicators.erase(demand.communicator);
  }
  demand.wanted = wanted;
}

void ReceiveStager::credits_requested(const CreditCountMessage& message) {
  Demand& demand = demand_of(message);
  HOCCL_CHECK(message.count > 0, "{} credits requested", message.count);
  set_wanted(demand, demand.wanted + message.count);
}

void ReceiveStager::credits_cancelled(const CreditCountMessage& message) {
  Demand& demand = demand_of(message);
  // What was promised meanwhile comes back as kCreditReturn.
  set_wanted(demand, demand.wanted - std::min<std::int64_t>(demand.wanted, message.count));
}

void ReceiveStager::credit_returned(const CreditMessage& message) {
  HOCCL_CHECK(message.count <= CreditMessage::kCapacity, "{} credits in a message", message.count);
  Pool& pool = pool_of(port_.topology().place_of(message.receive_nic));
  for (std::size_t i = 0; i < message.count; ++i) {
    pool.slots.at(message.slots[i]);
    release(pool, message.slots[i].slot, ReceiveEvent::kRevoke);
  }
}

void ReceiveStager::release(Pool& pool, std::uint16_t index, ReceiveEvent event) {
  Slot& slot = pool.slots[index];
  if (slot.state == ReceiveState::kCredited) pool.promised -= 1;
  if (slot.state == ReceiveState::kDelivering) pool.delivering -= 1;
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
  pool.promised -= 1;
  slot.promised_to = nullptr;
  slot.descriptor = descriptor;
  const auto ranks = topology.ranks_of(topology.node_of(place));
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if ((descriptor.local_targets[i / 32] >> (i % 32) & 1U) != 0)
      slot.waiting_for.push_back(ranks[i]);
  }
  HOCCL_CHECK(!slot.waiting_for.empty(), "operation {} flow {} chunk {} has no local target",
              descriptor.operation, descriptor.flow, descriptor.chunk);
  if (options_.overlap) {
    announce(pool, descriptor.slot);
  } else {
    pool.landed.push_back(descriptor.slot);
  }
}

/// Tells the targets of a landed chunk that they may pull it.
void ReceiveStager::announce(Pool& pool, std::uint16_t index) {
  Slot& slot = pool.slots[index];
  slot.state = advance(slot.state, ReceiveEvent::kAnnounce);
  pool.delivering += 1;
  std::erase_if(slot.waiting_for, [this](Rank target) { return lost_.contains(target); });
  if (slot.waiting_for.empty()) {
    release(pool, index, ReceiveEvent::kRevoke);
    return;
  }
  Descriptor landed = slot.descriptor;
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
  for (auto& [place, pool] : pools_) {
    // NIC and NVLink phases take turns: nothing is pulled while anything is still to land.
    if (!options_.overlap && pool.promised == 0) {
      for (const std::uint16_t index : std::exchange(pool.landed, {})) announce(pool, index);
    }
    promise_slots(pool);
    pool.patience.watch(!pool.turns[1].empty(), port_.now());
  }
}

std::optional<Seconds> ReceiveStager::next_deadline() const {
  std::optional<Seconds> next;
  for (const auto& [place, pool] : pools_) {
    // What could not be done when its time had come waits for something that will wake us.
    const auto deadline = pool.patience.deadline(options_.background_patience);
    if (!deadline || *deadline <= port_.now()) continue;
    if (!next || *deadline < *next) next = deadline;
  }
  return next;
}

ReceiveStager::Demand* ReceiveStager::next_demand(Pool& pool) {
  auto& [foreground, background] = pool.turns;
  const bool background_is_due =
      pool.patience.ended(port_.now(), options_.background_patience) && !background.empty();
  // Half of the slots are kept for foreground that may come any moment.
  const bool half_is_free = 2 * pool.slots.free_count() > pool.slots.size();
  if (foreground.empty() && !half_is_free) return nullptr;
  auto& communicators = foreground.empty() || background_is_due ? background : foreground;
  if (communicators.empty()) return nullptr;
  if (&communicators == &background) pool.patience.served();
  const auto communicator = std::ranges::min_element(
      communicators, {}, [&](const auto& entry) { return pool.share.served(entry.first); });
  pool.share.charge(communicator->first, 1);
  auto& senders = communicator->second.begin()->second;
  // Everyone who sends to us gets on at the same pace, whatever their shares: whoever has most to
  // send, here and elsewhere, must not end last.
  const auto least = std::ranges::min_element(senders, {}, [](const Demand* demand) {
    return interleave_position(demand->promised, demand->promised + demand->wanted);
  });
  Demand* demand = *least;
  demand->promised += 1;
  if (demand->wanted == 1) {
    set_wanted(*demand, 0);
  } else {
    demand->wanted -= 1;
    senders.erase(least);
    senders.push_back(demand);
  }
  return demand;
}

void ReceiveStager::promise_slots(Pool& pool) {
  if (!options_.overlap && (pool.delivering > 0 || !pool.landed.empty())) return;
  while (pool.slots.has_free()) {
    Demand* demand = next_demand(pool);
    if (demand == nullptr) break;
    const SlotReference taken = pool.slots.take();
    Slot& slot = pool.slots[taken.slot];
    slot.state = advance(slot.state, ReceiveEvent::kCredit);
    slot.promised_to = demand;
    pool.promised += 1;
    port_.account(CpuWork::kBookkeeping, 1);
    if (demand->credit.count == 0) crediting_.push_back(demand);
    demand->credit.slots[demand->credit.count++] = taken;
    if (demand->credit.count == CreditMessage::kCapacity) {
      send_credit(*demand);
      std::erase(crediting_, demand);
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
    if (demand.send_host == peer) set_wanted(demand, 0);
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
    if (!pool.slots.all_free() || !pool.turns[0].empty() || !pool.turns[1].empty()) return false;
  }
  return true;
}

}  // namespace hoccl::engine
