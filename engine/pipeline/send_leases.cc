// The part of SendStager that keeps leases: what sources want, and the receive slots (credits)
// asked for it at the far ends.

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "engine/base/check.h"
#include "engine/pipeline/interleave.h"
#include "engine/pipeline/send_stager.h"
#include "engine/topology/topology.h"

namespace hoccl::engine {

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
    const QueuePairId id = port_.queue_pair(send_nic, receive_nic, link.remote_host, i);
    QueuePair& queue_pair = queue_pairs_[id];
    queue_pair.id = id;
    queue_pair.link = &link;
    link.queue_pairs.push_back(&queue_pair);
  }
  join_pool(link);
  link.nic = &nics_[send_nic];
  link.nic->links.push_back(&link);
  return link;
}

SendStager::Link& SendStager::local_link(PlaceId place) {
  const auto [entry, is_new] = local_links_.try_emplace(place);
  Link& link = entry->second;
  if (!is_new) return link;
  link.pool = &pool_of(place);
  join_pool(link);
  link.pool->able.insert(link.number);
  return link;
}

void SendStager::join_pool(Link& link) {
  link.number = link.pool->links.size();
  link.pool->links.push_back(&link);
}

void SendStager::lease_branch(Rank /*source*/, const LeaseBranchMessage& message) {
  branches_[{message.operation, message.flow}].push_back(message);
}

void SendStager::lease_requested(Rank source, const LeaseRequestMessage& message) {
  Lease& lease = open_lease(source, message);
  branches_.erase({message.operation, message.flow});
  const std::int32_t waited = lease.waiting_at(0);
  lease.requested += message.chunks;
  if (waited == 0) queue(lease, 0);
  enter(lease, 0, message.chunks);
}

SendStager::Lease& SendStager::open_lease(Rank source, const LeaseRequestMessage& message) {
  const auto [entry, is_new] =
      leases_.try_emplace({message.operation, message.flow, message.stage});
  Lease& lease = entry->second;
  if (!is_new) return lease;
  lease.operation = message.operation;
  lease.flow = message.flow;
  lease.stage = message.stage;
  lease.flow_class = static_cast<FlowClass>(message.traffic_class);
  lease.source = source;
  lease.first = message.first;
  lease.total = message.total;
  if (message.send_nic.is_none()) {
    lease.legs.push_back({.link = &local_link(message.place),
                          .target = message.target,
                          .local_targets = {},
                          .stage = message.stage,
                          .passed = 0,
                          .taken = {}});
  } else {
    add_legs(lease, source, message);
  }
  return lease;
}

void SendStager::add_legs(Lease& lease, Rank source, const LeaseRequestMessage& message) {
  const auto add = [&](NicId receive_nic, Rank target, std::uint16_t stage,
                       const std::array<std::uint32_t, 3>& local_targets) {
    lease.legs.push_back({.link = &link_between(message.send_nic, receive_nic),
                          .target = target,
                          .local_targets = local_targets,
                          .stage = stage,
                          .passed = 0,
                          .taken = {}});
  };
  add(message.receive_nic, message.target, message.stage, {});
  const auto further = branches_.find({message.operation, message.flow});
  const std::size_t branches = further == branches_.end() ? 0 : further->second.size();
  HOCCL_CHECK(branches == static_cast<std::size_t>(message.branches) && branches <= kMaxBranches,
              "rank {} named {} of {} branches of operation {} flow {}", source, branches,
              message.branches, message.operation, message.flow);
  for (std::size_t i = 0; i < branches; ++i) {
    const LeaseBranchMessage& branch = further->second[i];
    add(branch.receive_nic, branch.target, branch.stage, branch.local_targets);
  }
  // The same order everywhere, or two chunks could each hold what the other waits for.
  std::ranges::sort(lease.legs, {}, [](const Leg& leg) { return leg.link->remote->place; });
}

/// That many more chunks wait at this leg.
void SendStager::enter(Lease& lease, std::size_t leg, std::int32_t chunks) {
  want(lease, leg, chunks);
  Link& link = *lease.legs[leg].link;
  if (link.is_local()) return;
  const Ask ask = ask_of(lease, leg);
  set_unasked(link, ask, unasked_of(link, ask) + chunks);
}

std::int32_t SendStager::unasked_of(const Link& link, const Ask& ask) {
  const auto found = link.unasked.find(ask);
  return found == link.unasked.end() ? 0 : found->second;
}

void SendStager::set_unasked(Link& link, const Ask& ask, std::int32_t chunks) {
  if (chunks == 0) {
    link.unasked.erase(ask);
    link.pool->asking.erase({ask, link.number});
  } else {
    link.unasked[ask] = chunks;
    link.pool->asking.insert({ask, link.number});
  }
}

/// Counts chunks that wait at a leg (or, below zero, no longer do).
void SendStager::want(Lease& lease, std::size_t leg, std::int32_t chunks) {
  Link& link = *lease.legs[leg].link;
  link.wanted += chunks;
  if (link.is_local()) return;  // no stage of the wire waits for it
  for (auto* counts : {&link.pool->wanted, &link.wanted_by}) {
    const auto entry = counts->try_emplace(ask_of(lease, leg)).first;
    entry->second += chunks;
    if (entry->second == 0) counts->erase(entry);
  }
}

/// A chunk of this ask has a credit now. If it had not asked for one, it took another's, which must
/// be asked for anew.
void SendStager::credit_taken(Link& link, const Ask& ask) {
  const std::int32_t unasked = unasked_of(link, ask);
  if (unasked == 0) return;
  const auto wanted = link.wanted_by.find(ask);
  if (wanted != link.wanted_by.end() && unasked <= wanted->second) return;
  set_unasked(link, ask, unasked - 1);
  // The latest: a credit that comes for it serves an earlier one as well.
  for (auto other = link.wanted_by.rbegin(); other != link.wanted_by.rend(); ++other) {
    const std::int32_t already = unasked_of(link, other->first);
    if (already < other->second) {
      set_unasked(link, other->first, already + 1);
      return;
    }
  }
  // Else it was asked for by a lease that is cancelled meanwhile.
}

void SendStager::queue(Lease& lease, std::size_t leg) {
  const double position =
      options_.interleave ? interleave_position(lease.first + lease.legs[leg].passed, lease.total)
                          : static_cast<double>(lease.flow.value());
  lease.legs[leg].link->waiting[sharer_of(lease)].insert(
      {lease.legs[leg].stage, position, next_order_++, &lease, leg});
}

/// Its chunks at this leg take no more turns.
void SendStager::unqueue(Lease& lease, std::size_t leg) {
  auto& waiting = lease.legs[leg].link->waiting;
  const auto sharer = waiting.find(sharer_of(lease));
  if (sharer == waiting.end()) return;
  std::erase_if(sharer->second,
                [&](const Waiting& entry) { return entry.lease == &lease && entry.leg == leg; });
  if (sharer->second.empty()) waiting.erase(sharer);
}

void SendStager::ask_for_credits() {
  for (auto& [place, pool] : pools_) {
    auto next = pool.asking.begin();
    while (next != pool.asking.end()) {
      const auto [ask, number] = *next++;
      if (!may_ask(pool, ask)) {  // nor the later ones of its class and communicator
        constexpr auto kLast = std::numeric_limits<std::uint16_t>::max();
        next = pool.asking.upper_bound(
            {{std::get<0>(ask), std::get<1>(ask), kLast}, pool.links.size()});
        continue;
      }
      Link& link = *pool.links[number];
      post_credit_count(MessageKind::kCreditRequest, link, ask, unasked_of(link, ask));
      set_unasked(link, ask, 0);
    }
  }
}

/// Credits are asked for one stage after the other: held for later ones they would idle, and
/// whoever sends to that place now would lack them. A later stage's are asked for when no more
/// chunks wait in those before it than half of the slots hold.
bool SendStager::may_ask(const Pool& pool, const Ask& ask) {
  std::int64_t before = 0;
  for (auto earlier = pool.wanted.lower_bound({std::get<0>(ask), std::get<1>(ask), 0});
       earlier != pool.wanted.end() && earlier->first < ask; ++earlier) {
    before += earlier->second;
    if (2 * before > static_cast<std::int64_t>(pool.slots.size())) return false;
  }
  return true;
}

void SendStager::post_credit_count(MessageKind kind, const Link& link, const Ask& ask,
                                   std::int32_t count) {
  CreditCountMessage message;
  message.kind = kind;
  message.traffic_class = static_cast<std::uint8_t>(std::get<0>(ask));
  message.communicator = std::get<1>(ask);
  message.stage = std::get<2>(ask);
  message.send_nic = link.send_nic;
  message.receive_nic = link.receive_nic;
  message.count = count;
  port_.post_message(link.remote_host, pack(message));
}

void SendStager::credited(const CreditMessage& message) {
  Link& link = link_between(message.send_nic, message.receive_nic);
  HOCCL_CHECK(message.count <= CreditMessage::kCapacity, "{} credits in a message", message.count);
  for (std::size_t i = 0; i < message.count; ++i) link.credits.push_back(message.slots[i]);
  link.pool->able.insert(link.number);
  return_excess_credits(link);
}

/// More credits than chunks that want one can only come from cancelled leases; the receiver needs
/// those slots for others.
void SendStager::return_excess_credits(Link& link) {
  while (static_cast<std::int64_t>(link.credits.size()) > link.wanted) {
    return_last_credit(link);
  }
}

/// Credits for a later stage than has turned out to be the current one go back, to be asked for
/// again in time: whoever sends to that place now needs them.
void SendStager::return_early_credits(Link& link) {
  std::int64_t usable = 0;
  for (const auto& [ask, count] : link.wanted_by) {
    if (may_ask(*link.pool, ask)) usable += count;
  }
  for (auto ask = link.wanted_by.rbegin(); ask != link.wanted_by.rend(); ++ask) {
    if (static_cast<std::int64_t>(link.credits.size()) <= usable) return;
    if (may_ask(*link.pool, ask->first)) continue;
    std::int32_t unasked = unasked_of(link, ask->first);
    while (static_cast<std::int64_t>(link.credits.size()) > usable && unasked < ask->second) {
      return_last_credit(link);
      unasked += 1;
    }
    set_unasked(link, ask->first, unasked);
  }
}

void SendStager::return_last_credit(Link& link) {
  return_credit(link, link.credits.back());
  link.credits.pop_back();
  if (link.credits.empty()) link.pool->able.erase(link.number);
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

/// Of a slot that will not be written to any far end.
void SendStager::return_credits(const Slot& slot) {
  for (std::size_t leg = 0; leg < slot.lease->legs.size(); ++leg) {
    Link& link = *slot.lease->legs[leg].link;
    if (!link.is_local()) return_credit(link, slot.credits[leg]);
  }
}

void SendStager::lease_cancelled(const FlowMessage& message) {
  const auto entry = leases_.find({message.operation, message.flow, message.stage});
  if (entry == leases_.end()) return;  // it ended by itself meanwhile
  cancel(entry->second);
  close_if_done(entry->second);
}

void SendStager::cancel(Lease& lease) {
  if (std::exchange(lease.cancelled, true)) return;
  for (std::size_t leg = 0; leg < lease.legs.size(); ++leg) cancel_leg(lease, leg);
  // Nothing waits any more: what was requested is what was granted.
  lease.requested = lease.granted();
  for (Leg& leg : lease.legs) leg.passed = lease.granted();
}

void SendStager::cancel_leg(Lease& lease, std::size_t leg) {
  Link& link = *lease.legs[leg].link;
  for (const SlotReference& credit : std::exchange(lease.legs[leg].taken, {})) {
    return_credit(link, credit);
  }
  std::int32_t unwanted = lease.waiting_at(leg);
  if (unwanted == 0) return;
  unqueue(lease, leg);
  want(lease, leg, -unwanted);
  if (link.is_local()) return;
  const Ask ask = ask_of(lease, leg);
  if (const std::int32_t unasked = unasked_of(link, ask); unasked > 0) {
    const std::int32_t never_asked = std::min(unasked, unwanted);
    unwanted -= never_asked;
    set_unasked(link, ask, unasked - never_asked);
  }
  // Credits in hand beyond what is still wanted go back; the rest is no longer asked for. Credits
  // under way right now come back through return_excess_credits when they arrive.
  const auto excess = static_cast<std::int64_t>(link.credits.size()) - link.wanted;
  if (excess > 0) unwanted -= static_cast<std::int32_t>(excess);
  return_excess_credits(link);
  if (unwanted <= 0) return;
  post_credit_count(MessageKind::kCreditCancel, link, ask, unwanted);
}

void SendStager::close_if_done(Lease& lease) {
  if (lease.granted() != lease.requested || lease.outstanding != 0) return;
  if (!lease.cancelled) {
    FlowMessage sent;
    sent.kind = MessageKind::kFlowSent;
    sent.stage = lease.stage;
    sent.operation = lease.operation;
    sent.flow = lease.flow;
    sent.chunks = lease.sent;
    port_.post_message(lease.source, pack(sent));
  }
  std::erase(granting_, &lease);
  leases_.erase({lease.operation, lease.flow, lease.stage});
}

bool SendStager::touches(const Lease& lease, Rank host) {
  return std::ranges::any_of(lease.legs, [&](const Leg& leg) {
    return leg.link->is_local() ? leg.target == host : leg.link->remote_host == host;
  });
}

void SendStager::peer_lost(Rank peer) {
  lost_.insert(peer);
  std::vector<LeaseKey> gone;
  for (auto& [key, lease] : leases_) {
    if (lease.source == peer || touches(lease, peer)) gone.push_back(key);
  }
  std::ranges::sort(gone);  // the hash map's order is not the same everywhere
  for (const LeaseKey& key : gone) {
    Lease& lease = leases_.at(key);
    cancel(lease);
    if (lease.source == peer) revoke_unfilled(lease);
    // Nobody else pulls what was offered to the dead.
    if (lease.legs.front().link->is_local() && lease.legs.front().target == peer) {
      Pool& pool = *lease.legs.front().link->pool;
      for (std::size_t i = 0; i < pool.slots.size(); ++i) {
        if (pool.slots[i].lease != &lease || pool.slots[i].state != SendState::kDelivering)
          continue;
        revoke_offered(pool, static_cast<std::uint16_t>(i));
      }
    }
    close_if_done(lease);
  }
}

/// Of a relayed chunk whose target has died before it pulled it.
void SendStager::revoke_offered(Pool& pool, std::uint16_t slot) {
  pool.sending -= 1;
  release(pool, slot, SendEvent::kRevoke);
}

/// A dead source fills no more slots; what it has announced as staged still leaves.
void SendStager::revoke_unfilled(Lease& lease) {
  Pool& pool = *lease.legs.front().link->pool;
  for (std::size_t i = 0; i < pool.slots.size(); ++i) {
    Slot& slot = pool.slots[i];
    if (slot.lease != &lease || slot.state != SendState::kDmaCopying || slot.staged) continue;
    return_credits(slot);
    pool.copying -= 1;
    release(pool, static_cast<std::uint16_t>(i), SendEvent::kRevoke);
  }
}

}  // namespace hoccl::engine
