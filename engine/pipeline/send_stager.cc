#include "engine/pipeline/send_stager.h"

#include <algorithm>
#include <limits>
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
  return pools_.emplace(place, Pool{std::move(slots), {}, {}, 0, {}, {}, {}, 0, 0, 0, false, {}})
      .first->second;
}

void SendStager::staged(const Descriptor& descriptor) {
  Pool& pool = pool_of(PlaceId(descriptor.place));
  const SlotReference reference{descriptor.slot, descriptor.place, descriptor.generation};
  Slot& slot = pool.slots.at(reference);
  HOCCL_CHECK(slot.lease != nullptr && slot.state == SendState::kDmaCopying && !slot.staged,
              "send slot {} was staged in state {}", descriptor.slot, to_string(slot.state));
  slot.descriptor = descriptor;
  slot.staged = true;
  pool.copying -= 1;
  pool.sending += 1;
  port_.account(CpuWork::kBookkeeping, 1);
  Lease& lease = *slot.lease;
  if (lease.legs.front().link->is_local()) {
    slot.state = advance(slot.state, SendEvent::kAnnounce);
    if (lost_.contains(lease.legs.front().target)) {
      // Its source did not know yet that the target has died.
      revoke_offered(pool, descriptor.slot);
      close_if_done(lease);
      return;
    }
    Descriptor landed = descriptor;
    landed.kind = static_cast<std::uint8_t>(MessageKind::kLanded);
    landed.in_send_slots = 1;
    port_.post_message(lease.legs.front().target, pack(landed));
    return;
  }
  for (std::size_t leg = 0; leg < lease.legs.size(); ++leg) {
    lease.legs[leg].link->outbox[static_cast<std::size_t>(lease.flow_class)].push_back(
        {descriptor.slot, static_cast<std::uint16_t>(leg)});
  }
}

/// The target of a relayed chunk has read it.
void SendStager::pulled(const SlotReference& reference) {
  Pool& pool = pool_of(PlaceId(reference.place));
  Slot& slot = pool.slots.at(reference);
  HOCCL_CHECK(slot.state == SendState::kDelivering, "send slot {} was pulled in state {}",
              reference.slot, to_string(slot.state));
  Lease& lease = *slot.lease;
  pool.sending -= 1;
  lease.sent += 1;
  release(pool, reference.slot, SendEvent::kPulled);
  close_if_done(lease);
}

void SendStager::slot_returned(const SlotReference& reference) {
  Pool& pool = pool_of(PlaceId(reference.place));
  Slot& slot = pool.slots.at(reference);
  Lease& lease = *slot.lease;
  return_credits(slot);
  pool.copying -= 1;
  release(pool, reference.slot, SendEvent::kRevoke);
  close_if_done(lease);
}

void SendStager::release(Pool& pool, std::uint16_t index, SendEvent event) {
  Slot& slot = pool.slots[index];
  slot.state = advance(slot.state, event);
  if (slot.lease->legs.front().link->is_local()) pool.relaying -= 1;
  slot.lease->outstanding -= 1;
  slot.lease = nullptr;
  slot.staged = false;
  pool.slots.give_back(index);
}

void SendStager::act() {
  for (auto& [place, pool] : pools_) {
    for (auto next = pool.able.begin(); next != pool.able.end();) {
      Link& link = *pool.links[*next++];  // may leave the set now
      if (!link.is_local()) return_early_credits(link);
    }
  }
  ask_for_credits();
  for (auto& [place, pool] : pools_) {
    while (pass_one(pool)) {
    }
    pool.filling = false;
    const bool background_waits =
        std::ranges::any_of(pool.able, [&links = pool.links](std::size_t number) {
          const auto& waiting = links[number]->waiting;
          return !waiting.empty() && waiting.rbegin()->first.first == FlowClass::kBackground;
        });
    pool.patience.watch(background_waits, port_.now());
  }
  ask_for_credits();  // chunks that went on to their next leg
  for (Lease* lease : granting_) send_grant(*lease);
  granting_.clear();
  for (auto& [id, nic] : nics_) {
    while (post_one(nic)) {
    }
  }
}

std::optional<Seconds> SendStager::next_deadline() const {
  std::optional<Seconds> next;
  for (const auto& [place, pool] : pools_) {
    // What could not be done when its time had come waits for something that will wake us.
    const auto deadline = pool.patience.deadline(options_.background_patience);
    if (!deadline || *deadline <= port_.now()) continue;
    if (!next || *deadline < *next) next = deadline;
  }
  return next;
}

/// One chunk gets the receive slot it waits for, and the last time a send slot with it.
bool SendStager::pass_one(Pool& pool) {
  const std::optional<Choice> choice = choose(pool);
  if (!choice) return false;
  Lease& lease = *choice->waiting.lease;
  const std::size_t leg = choice->waiting.leg;
  const bool last = leg + 1 == lease.legs.size();
  auto& waiting = choice->link->waiting;
  const auto sharer = waiting.find(choice->sharer);
  sharer->second.erase(sharer->second.begin());
  if (sharer->second.empty()) waiting.erase(sharer);
  pass(lease, leg);
  if (last) {
    pool.share.charge(choice->sharer.second, 1);
    if (choice->sharer.first == FlowClass::kBackground) pool.patience.served();
    grant(pool, lease);
  }
  return true;
}

/// Takes the leg's credit; the chunk waits for the next leg's, if there is one.
void SendStager::pass(Lease& lease, std::size_t leg) {
  Leg& here = lease.legs[leg];
  Link& link = *here.link;
  want(lease, leg, -1);
  if (!link.is_local()) {
    here.taken.push_back(link.credits.front());
    link.credits.pop_front();
    if (link.credits.empty()) link.pool->able.erase(link.number);
    credit_taken(link, ask_of(lease, leg));
  }
  const bool first_at_next = leg + 1 < lease.legs.size() && lease.waiting_at(leg + 1) == 0;
  here.passed += 1;
  port_.account(CpuWork::kBookkeeping, 1);
  if (lease.waiting_at(leg) > 0) queue(lease, leg);
  if (leg + 1 == lease.legs.size()) return;
  if (first_at_next) queue(lease, leg + 1);
  enter(lease, leg + 1, 1);
}

/// The chunk that goes next, and can. Links take turns among equals, so that one far node with many
/// credits cannot take every slot.
std::optional<SendStager::Choice> SendStager::choose(Pool& pool) const {
  std::optional<Choice> best;
  const auto key = [](const Choice& choice) {
    return std::tie(choice.sharer.first, choice.served, choice.waiting.stage,
                    choice.waiting.position);
  };
  auto next = pool.able.lower_bound(pool.next_link);
  for (std::size_t tried = 0; tried < pool.able.size(); ++tried) {
    if (next == pool.able.end()) next = pool.able.begin();
    Link* link = pool.links[*next++];
    for (const auto& [sharer, entries] : link->waiting) {
      const Choice choice{sharer, pool.share.served(sharer.second), *entries.begin(), link};
      // Takes no send slot yet, so nobody has to wait for it.
      if (choice.waiting.leg + 1 < choice.waiting.lease->legs.size()) return choice;
      if (best && !(key(choice) < key(*best))) continue;
      if (may_have_slot(pool, choice)) best = choice;
    }
  }
  if (best) pool.next_link = best->link->number + 1;
  return best;
}

/// Later stages and background must leave half of the slots to those that come first, and to those
/// that may come any moment.
bool SendStager::may_have_slot(const Pool& pool, const Choice& choice) const {
  if (!pool.slots.has_free()) return false;
  if (waits_for_batch(pool)) return false;
  // NIC and NVLink phases take turns: no copy begins while anything leaves.
  if (!options_.overlap && pool.sending > 0) return false;
  // A busy target lets relayed chunks wait; the NIC must not run dry meanwhile.
  if (choice.link->is_local() && 4 * pool.relaying >= pool.slots.size()) return false;
  if (2 * pool.slots.free_count() > pool.slots.size()) return true;
  if (choice.sharer.first == FlowClass::kBackground) {
    return pool.patience.ended(port_.now(), options_.background_patience) && foreground_waits(pool);
  }
  return choice.link->is_local() || choice.waiting.stage == lowest_stage(pool);
}

/// Slots come back one by one. Where copies are handed over in batches, one source gets as many at
/// once, unless nothing leaves that would bring back more. Several would only wait for each other.
bool SendStager::waits_for_batch(const Pool& pool) const {
  const auto batch = std::min(static_cast<std::size_t>(options_.batch), pool.slots.size() / 2);
  if (pool.filling || pool.slots.free_count() >= batch || pool.sending == 0) return false;
  std::size_t waiting = 0;
  for (const Link* link : pool.links) {
    for (const auto& [sharer, entries] : link->waiting) waiting += entries.size();
  }
  return waiting == 1;
}

bool SendStager::foreground_waits(const Pool& pool) {
  return std::ranges::any_of(pool.links, [](const Link* link) {
    return !link->waiting.empty() && link->waiting.begin()->first.first == FlowClass::kForeground;
  });
}

/// Of the chunks that wait for the wire.
std::uint16_t SendStager::lowest_stage(const Pool& pool) {
  std::uint16_t lowest = std::numeric_limits<std::uint16_t>::max();
  for (const Link* link : pool.links) {
    if (link->is_local()) continue;
    for (const auto& [sharer, entries] : link->waiting) {
      lowest = std::min(lowest, entries.begin()->stage);
    }
  }
  return lowest;
}

void SendStager::grant(Pool& pool, Lease& lease) {
  pool.filling = true;
  const SlotReference taken = pool.slots.take();
  Slot& slot = pool.slots[taken.slot];
  slot.state = advance(slot.state, SendEvent::kGrant);
  slot.lease = &lease;
  slot.unwritten = lease.legs.size();
  slot.staged = false;
  for (std::size_t leg = 0; leg < lease.legs.size(); ++leg) {
    if (lease.legs[leg].link->is_local()) continue;
    slot.credits[leg] = lease.legs[leg].taken.front();
    lease.legs[leg].taken.pop_front();
  }
  pool.copying += 1;
  if (lease.legs.front().link->is_local()) pool.relaying += 1;
  lease.outstanding += 1;
  if (lease.grant.count == 0) granting_.push_back(&lease);
  lease.grant.slots[lease.grant.count++] = taken;
  if (lease.grant.count == LeaseGrantMessage::kCapacity) {
    send_grant(lease);
    std::erase(granting_, &lease);
  }
}

void SendStager::send_grant(Lease& lease) {
  lease.grant.operation = lease.operation;
  lease.grant.flow = lease.flow;
  port_.post_message(lease.source, pack(lease.grant));
  lease.grant.count = 0;
}

/// Foreground first, then the lowest stage, then the link with the fewest writes in flight, so that
/// those to a far end that many send to do not fill the NIC's depth; links take turns among equals.
bool SendStager::post_one(SendNic& nic) {
  if (nic.in_flight >= options_.nic_depth) return false;
  Link* best = nullptr;
  std::size_t best_class = 0;
  std::tuple<std::size_t, std::uint16_t, int> best_key;
  std::size_t best_index = 0;
  QueuePair* best_queue_pair = nullptr;
  const std::size_t count = nic.links.size();
  for (std::size_t tried = 0; tried < count; ++tried) {
    const std::size_t index = (nic.next_link + tried) % count;
    Link& link = *nic.links[index];
    if (!options_.overlap && link.pool->copying > 0) continue;
    const std::size_t traffic_class = link.outbox[0].empty() ? 1 : 0;
    if (link.outbox[traffic_class].empty()) continue;
    const SlotLeg front = link.outbox[traffic_class].front();
    const std::tuple key{traffic_class, link.pool->slots[front.slot].lease->legs[front.leg].stage,
                         link.in_flight};
    if (best != nullptr && !(key < best_key)) continue;
    QueuePair* least = *std::ranges::min_element(
        link.queue_pairs, {}, [](const QueuePair* pair) { return pair->in_flight.size(); });
    if (static_cast<int>(least->in_flight.size()) >= options_.queue_depth) continue;
    best = &link;
    best_key = key;
    best_class = traffic_class;
    best_index = index;
    best_queue_pair = least;
  }
  if (best == nullptr) return false;
  // A NIC does what it has in order: foreground that comes would wait for all background ahead.
  if (best_class == 1 && nic.in_flight >= std::max(1, options_.nic_depth / 2)) return false;
  nic.next_link = (best_index + 1) % count;
  const SlotLeg slot_leg = best->outbox[best_class].front();
  best->outbox[best_class].pop_front();
  post_write(*best, *best_queue_pair, slot_leg);
  return true;
}

void SendStager::post_write(Link& link, QueuePair& queue_pair, SlotLeg slot_leg) {
  Slot& slot = link.pool->slots[slot_leg.slot];
  if (slot.state == SendState::kDmaCopying) slot.state = advance(slot.state, SendEvent::kPost);
  const Leg& leg = slot.lease->legs[slot_leg.leg];
  const SlotReference& credit = slot.credits[slot_leg.leg];
  const Bytes size(slot.descriptor.size_bytes);
  const StagingPlace& place = link.pool->slots.place();
  WriteRequest request;
  request.local = {place.send_slots, place.slot_size * slot_leg.slot, size};
  request.remote = {link.remote->receive_slots, link.remote->slot_size * credit.slot, size};
  request.immediate = credit.slot;
  request.descriptor = slot.descriptor;
  request.descriptor.stage = leg.stage;
  request.descriptor.slot = credit.slot;
  request.descriptor.place = credit.place;
  request.descriptor.generation = credit.generation;
  if (leg.local_targets != std::array<std::uint32_t, 3>{}) {
    request.descriptor.local_targets = leg.local_targets;
  }
  request.tag = {slot.descriptor.operation, FlowId(slot.descriptor.flow), slot.descriptor.chunk,
                 slot.lease->source};
  port_.post_write(queue_pair.id, request);
  queue_pair.in_flight.push_back(slot_leg);
  link.in_flight += 1;
  link.nic->in_flight += 1;
}

void SendStager::written(const WritesDone& done) {
  QueuePair& queue_pair = queue_pairs_.at(done.queue_pair);
  Pool& pool = *queue_pair.link->pool;
  while (queue_pair.last_done < done.ticket) {
    HOCCL_CHECK(!queue_pair.in_flight.empty(), "queue pair {} completed ticket {} of none posted",
                done.queue_pair, done.ticket);
    const SlotLeg slot_leg = queue_pair.in_flight.front();
    queue_pair.in_flight.pop_front();
    queue_pair.link->in_flight -= 1;
    queue_pair.link->nic->in_flight -= 1;
    queue_pair.last_done = Ticket(queue_pair.last_done.value() + 1);
    if (queue_pair.last_done == done.ticket && done.outcome == Outcome::kError) {
      write_failed(queue_pair, slot_leg);
    } else {
      leg_done(pool, slot_leg);
    }
  }
}

/// The NIC has read the slot for one of its far ends.
void SendStager::leg_done(Pool& pool, SlotLeg slot_leg) {
  Slot& slot = pool.slots[slot_leg.slot];
  if (--slot.unwritten > 0) return;
  Lease& lease = *slot.lease;
  pool.sending -= 1;
  lease.sent += 1;
  release(pool, slot_leg.slot, SendEvent::kWritten);
  close_if_done(lease);
}

/// The write never arrives, so its receive slot can be promised again.
void SendStager::write_failed(QueuePair& queue_pair, SlotLeg slot_leg) {
  Link& link = *queue_pair.link;
  Slot& slot = link.pool->slots[slot_leg.slot];
  Lease& lease = *slot.lease;
  FailedMessage failed;
  failed.cause = Cause::kLinkError;
  failed.operation = lease.operation;
  failed.rank = port_.rank();
  failed.peer = link.remote_host;
  failed.flow = lease.flow;
  failed.chunk = slot.descriptor.chunk;
  failed.link = nic_pair(link.send_nic, link.receive_nic);
  port_.post_message(lease.source, pack(failed));
  port_.post_message(lease.legs[slot_leg.leg].target, pack(failed));
  return_credit(link, slot.credits[slot_leg.leg]);
  cancel(lease);
  leg_done(*link.pool, slot_leg);
}

bool SendStager::quiescent() const {
  if (!leases_.empty()) return false;
  for (const auto& [place, pool] : pools_) {
    if (!pool.slots.all_free()) return false;
  }
  for (const auto& [nics, link] : links_) {
    if (!link.credits.empty() || !link.outbox[0].empty() || !link.outbox[1].empty()) return false;
  }
  return true;
}

}  // namespace hoccl::engine
