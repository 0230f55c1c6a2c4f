#include "engine/pipeline/send_stager.h"

#include <algorithm>
#include <utility>

#include "engine/base/check.h"
#include "engine/topology/topology.h"

namespace hoccl::engine {

SendStager::SendStager(Port& port, const PipelineOptions& options)
    : port_(port), options_(options) {}

SendStager::Pool& SendStager::pool_of(PlaceId place) {
  const auto existing = pools_.find(place);
  if (existing != pools_.end()) return existing->second;
  const StagingPlace& staging = port_.staging(place);
  SlotPool<Slot> slots(staging, port_.rank(), staging.send_slot_count);
  return pools_.emplace(place, Pool{std::move(slots), {}, 0}).first->second;
}

SendStager::Link& SendStager::link_between(NicId send_nic, NicId receive_nic) {
  const auto [entry, is_new] = links_.try_emplace({send_nic, receive_nic});
  Link& link = entry->second;
  if (!is_new) return link;
  const Topology& topology = port_.topology();
  link.send_nic = send_nic;
  link.receive_nic = receive_nic;
  link.pool = &pool_of(topology.place_of(send_nic));
  link.remote = &port_.staging(topology.place_of(receive_nic));
  link.remote_host = link.remote->host;
  for (int i = 0; i < options_.queue_pairs; ++i) {
    const QueuePairId id = port_.queue_pair(send_nic, receive_nic, i);
    QueuePair& queue_pair = queue_pairs_[id];
    queue_pair.id = id;
    queue_pair.link = &link;
    link.queue_pairs.push_back(&queue_pair);
  }
  link.pool->links.push_back(&link);
  link.nic = &nics_[send_nic];
  link.nic->links.push_back(&link);
  return link;
}

void SendStager::lease_requested(Rank source, const LeaseRequestMessage& message) {
  Link& link = link_between(message.send_nic, message.receive_nic);
  const auto [entry, is_new] = leases_.try_emplace({message.operation, message.flow});
  HOCCL_CHECK(is_new, "operation {} flow {} was leased twice", message.operation, message.flow);
  Lease& lease = entry->second;
  lease.operation = message.operation;
  lease.flow = message.flow;
  lease.source = source;
  lease.target = message.target;
  lease.link = &link;
  lease.stage = message.stage;
  lease.to_grant = message.chunks;
  link.to_grant += message.chunks;
  enqueue_waiting(lease);
  CreditCountMessage request;
  request.kind = MessageKind::kCreditRequest;
  request.send_nic = link.send_nic;
  request.receive_nic = link.receive_nic;
  request.count = message.chunks;
  port_.post_message(link.remote_host, pack(request));
}

/// Keeps leases sorted by stage; within a stage they take turns.
void SendStager::enqueue_waiting(Lease& lease) {
  auto& waiting = lease.link->waiting;
  const auto later = std::find_if(waiting.begin(), waiting.end(),
                                  [&](const Lease* other) { return other->stage > lease.stage; });
  waiting.insert(later, &lease);
}

void SendStager::credited(const CreditMessage& message) {
  Link& link = link_between(message.send_nic, message.receive_nic);
  HOCCL_CHECK(message.count <= CreditMessage::kCapacity, "{} credits in a message", message.count);
  for (std::size_t i = 0; i < message.count; ++i) link.credits.push_back(message.slots[i]);
  return_excess_credits(link);
}

/// More credits than chunks without a slot can only come from cancelled leases; the receiver needs
/// those slots for others.
void SendStager::return_excess_credits(Link& link) {
  while (static_cast<std::int64_t>(link.credits.size()) > link.to_grant) {
    return_credit(link, link.credits.back());
    link.credits.pop_back();
  }
}

void SendStager::return_credit(Link& link, const SlotReference& credit) {
  CreditMessage message;
  message.kind = MessageKind::kCreditReturn;
  message.send_nic = link.send_nic;
  message.receive_nic = link.receive_nic;
  message.count = 1;
  message.slots[0] = credit;
  port_.post_message(link.remote_host, pack(message));
}

void SendStager::staged(const Descriptor& descriptor) {
  Pool& pool = pool_of(PlaceId(descriptor.place));
  const SlotReference reference{descriptor.slot, descriptor.place, descriptor.generation};
  Slot& slot = pool.slots.at(reference);
  HOCCL_CHECK(slot.lease != nullptr && slot.state == SendState::kDmaCopying,
              "send slot {} was staged in state {}", descriptor.slot, to_string(slot.state));
  slot.descriptor = descriptor;
  slot.lease->link->outbox.push_back(descriptor.slot);
  port_.account(CpuWork::kBookkeeping, 1);
}

void SendStager::slot_returned(const SlotReference& reference) {
  Pool& pool = pool_of(PlaceId(reference.place));
  Slot& slot = pool.slots.at(reference);
  Lease& lease = *slot.lease;
  return_credit(*lease.link, slot.credit);
  release(pool, reference.slot, SendEvent::kRevoke);
  close_if_done(lease);
}

void SendStager::release(Pool& pool, std::uint16_t index, SendEvent event) {
  Slot& slot = pool.slots[index];
  slot.state = advance(slot.state, event);
  slot.lease->outstanding -= 1;
  slot.lease = nullptr;
  pool.slots.give_back(index);
}

void SendStager::lease_cancelled(const FlowMessage& message) {
  const auto entry = leases_.find({message.operation, message.flow});
  if (entry == leases_.end()) return;  // it ended by itself meanwhile
  cancel(entry->second);
  close_if_done(entry->second);
}

void SendStager::cancel(Lease& lease) {
  if (lease.cancelled) return;
  lease.cancelled = true;
  if (lease.to_grant == 0) return;
  Link& link = *lease.link;
  std::erase(link.waiting, &lease);
  link.to_grant -= lease.to_grant;
  std::int32_t unwanted = lease.to_grant;
  lease.to_grant = 0;
  // Credits in hand beyond what is still wanted go back; the rest is no longer asked for. Credits
  // under way right now come back through return_excess_credits when they arrive.
  const auto excess = static_cast<std::int64_t>(link.credits.size()) - link.to_grant;
  if (excess > 0) unwanted -= static_cast<std::int32_t>(excess);
  return_excess_credits(link);
  if (unwanted <= 0) return;
  CreditCountMessage message;
  message.kind = MessageKind::kCreditCancel;
  message.send_nic = link.send_nic;
  message.receive_nic = link.receive_nic;
  message.count = unwanted;
  port_.post_message(link.remote_host, pack(message));
}

void SendStager::close_if_done(Lease& lease) {
  if (lease.to_grant != 0 || lease.outstanding != 0) return;
  if (!lease.cancelled) {
    FlowMessage sent;
    sent.kind = MessageKind::kFlowSent;
    sent.operation = lease.operation;
    sent.flow = lease.flow;
    port_.post_message(lease.source, pack(sent));
  }
  leases_.erase({lease.operation, lease.flow});
}

void SendStager::act() {
  for (auto& [place, pool] : pools_) {
    while (grant_one(pool)) {
    }
  }
  for (Lease* lease : granting_) send_grant(*lease);
  granting_.clear();
  for (auto& [id, nic] : nics_) {
    while (post_one(nic)) {
    }
  }
}

/// Links take turns, so that one far node with many credits cannot take every slot.
bool SendStager::grant_one(Pool& pool) {
  if (!pool.slots.has_free()) return false;
  for (std::size_t tried = 0; tried < pool.links.size(); ++tried) {
    Link& link = *pool.links[pool.next_link];
    pool.next_link = (pool.next_link + 1) % pool.links.size();
    if (link.waiting.empty() || link.credits.empty()) continue;
    Lease& lease = *link.waiting.front();
    link.waiting.pop_front();
    const SlotReference taken = pool.slots.take();
    Slot& slot = pool.slots[taken.slot];
    slot.state = advance(slot.state, SendEvent::kGrant);
    slot.lease = &lease;
    slot.credit = link.credits.front();
    link.credits.pop_front();
    link.to_grant -= 1;
    port_.account(CpuWork::kBookkeeping, 1);
    lease.to_grant -= 1;
    lease.outstanding += 1;
    if (lease.to_grant > 0) enqueue_waiting(lease);
    if (lease.grant.count == 0) granting_.push_back(&lease);
    lease.grant.slots[lease.grant.count++] = taken;
    if (lease.grant.count == LeaseGrantMessage::kCapacity) {
      send_grant(lease);
      std::erase(granting_, &lease);
    }
    return true;
  }
  return false;
}

void SendStager::send_grant(Lease& lease) {
  lease.grant.operation = lease.operation;
  lease.grant.flow = lease.flow;
  port_.post_message(lease.source, pack(lease.grant));
  lease.grant.count = 0;
}

bool SendStager::post_one(SendNic& nic) {
  if (nic.in_flight >= options_.nic_depth) return false;
  for (std::size_t tried = 0; tried < nic.links.size(); ++tried) {
    Link& link = *nic.links[nic.next_link];
    nic.next_link = (nic.next_link + 1) % nic.links.size();
    if (link.outbox.empty()) continue;
    const auto least = std::min_element(link.queue_pairs.begin(), link.queue_pairs.end(),
                                        [](const QueuePair* a, const QueuePair* b) {
                                          return a->in_flight.size() < b->in_flight.size();
                                        });
    QueuePair& queue_pair = **least;
    if (static_cast<int>(queue_pair.in_flight.size()) >= options_.queue_depth) continue;
    post_write(link, queue_pair);
    return true;
  }
  return false;
}

/// Posts the oldest staged chunk of the link.
void SendStager::post_write(Link& link, QueuePair& queue_pair) {
  const std::uint16_t index = link.outbox.front();
  link.outbox.pop_front();
  Slot& slot = link.pool->slots[index];
  slot.state = advance(slot.state, SendEvent::kPost);
  const Bytes size(slot.descriptor.size_bytes);
  const StagingPlace& place = link.pool->slots.place();
  WriteRequest request;
  request.local = {place.send_slots, place.slot_size * index, size};
  request.remote = {link.remote->receive_slots, link.remote->slot_size * slot.credit.slot, size};
  request.immediate = slot.credit.slot;
  request.descriptor = slot.descriptor;
  request.descriptor.slot = slot.credit.slot;
  request.descriptor.place = slot.credit.place;
  request.descriptor.generation = slot.credit.generation;
  request.tag = {slot.descriptor.operation, FlowId(slot.descriptor.flow), slot.descriptor.chunk,
                 slot.lease->source};
  port_.post_write(queue_pair.id, request);
  queue_pair.in_flight.push_back(index);
  link.nic->in_flight += 1;
}

void SendStager::written(const WritesDone& done) {
  QueuePair& queue_pair = queue_pairs_.at(done.queue_pair);
  Pool& pool = *queue_pair.link->pool;
  while (queue_pair.last_done < done.ticket) {
    HOCCL_CHECK(!queue_pair.in_flight.empty(), "queue pair {} completed ticket {} of none posted",
                done.queue_pair, done.ticket);
    const std::uint16_t index = queue_pair.in_flight.front();
    queue_pair.in_flight.pop_front();
    queue_pair.link->nic->in_flight -= 1;
    queue_pair.last_done = Ticket(queue_pair.last_done.value() + 1);
    if (queue_pair.last_done == done.ticket && done.outcome == Outcome::kError) {
      write_failed(queue_pair, index);
      continue;
    }
    Lease& lease = *pool.slots[index].lease;
    release(pool, index, SendEvent::kWritten);
    close_if_done(lease);
  }
}

/// The write never arrives, so its receive slot can be promised again.
void SendStager::write_failed(QueuePair& queue_pair, std::uint16_t index) {
  Link& link = *queue_pair.link;
  Slot& slot = link.pool->slots[index];
  Lease& lease = *slot.lease;
  FailedMessage failed;
  failed.cause = Cause::kLinkError;
  failed.operation = lease.operation;
  failed.rank = port_.rank();
  failed.peer = link.remote_host;
  failed.flow = lease.flow;
  failed.chunk = slot.descriptor.chunk;
  failed.link.kind = LinkName::Kind::kNicPair;
  failed.link.first = link.send_nic.value();
  failed.link.second = link.receive_nic.value();
  port_.post_message(lease.source, pack(failed));
  port_.post_message(lease.target, pack(failed));
  return_credit(link, slot.credit);
  release(*link.pool, index, SendEvent::kWritten);
  cancel(lease);
  close_if_done(lease);
}

void SendStager::peer_lost(Rank peer) {
  std::vector<FlowKey> gone;
  for (auto& [key, lease] : leases_) {
    if (lease.source == peer || lease.link->remote_host == peer) gone.push_back(key);
  }
  std::sort(gone.begin(), gone.end());  // the hash map's order is not the same everywhere
  for (const FlowKey& key : gone) {
    Lease& lease = leases_.at(key);
    cancel(lease);
    if (lease.source != peer) {
      close_if_done(lease);
      continue;
    }
    // The dead source fills no more slots; what it has announced as staged still leaves.
    Pool& pool = *lease.link->pool;
    const auto& outbox = lease.link->outbox;
    for (std::size_t i = 0; i < pool.slots.size(); ++i) {
      const auto index = static_cast<std::uint16_t>(i);
      Slot& slot = pool.slots[i];
      if (slot.lease != &lease || slot.state != SendState::kDmaCopying) continue;
      if (std::find(outbox.begin(), outbox.end(), index) != outbox.end()) continue;
      return_credit(*lease.link, slot.credit);
      release(pool, index, SendEvent::kRevoke);
    }
    close_if_done(lease);
  }
}

bool SendStager::quiescent() const {
  if (!leases_.empty()) return false;
  for (const auto& [place, pool] : pools_) {
    if (!pool.slots.all_free()) return false;
  }
  for (const auto& [nics, link] : links_) {
    if (!link.credits.empty() || !link.outbox.empty()) return false;
  }
  return true;
}

}  // namespace hoccl::engine
