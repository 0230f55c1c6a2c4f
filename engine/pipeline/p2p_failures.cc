// The part of P2pExecutor that ends operations which cannot succeed. Nothing hangs: every
// unfinished operation ends with a status within the timeout, and other operations go on.

#include <algorithm>
#include <set>
#include <utility>

#include "engine/base/check.h"
#include "engine/pipeline/p2p_executor.h"
#include "engine/topology/topology.h"

namespace hoccl::engine {

Status P2pExecutor::status_of(const OperationId& id, Cause cause, Rank peer) const {
  Status status;
  status.cause = cause;
  status.rank = port_.rank();
  status.peer = peer;
  status.operation = id;
  return status;
}

/// Fails the operation at the chunk it has come to. `suspect`, if any, is the peer to blame; a
/// buffer exchange that failed is named instead of the chunk's link.
void P2pExecutor::fail_at(OperationState& state, Cause cause, Rank suspect, Rank reporter,
                          LinkName::Kind exchange) {
  Status status = status_of(state.operation.id, cause, suspect);
  LinkName link;
  locate(state, suspect, status, link);
  if (exchange != LinkName::Kind::kNone) {
    link = LinkName();
    link.kind = exchange;
  }
  fail(state, status, link, reporter);
}

/// `reporter` is the rank the news came from (this one if it is our own): it needs no notice.
void P2pExecutor::fail(OperationState& state, const Status& status, const LinkName& link,
                       Rank reporter) {
  if (state.failed) {
    end_if_over(state);  // this may have been its last copy
    return;
  }
  state.failed = true;
  running_.emplace(state.operation.id, &state);
  state.status = status;
  state.status.link = to_string(link);
  progress(state);
  failed_[state.operation.id] = {state.status, link};
  barrier_.forget(state.operation.id);
  notify_peers(state, link, reporter);
  for (SourceFlow& flow : state.sources) drop_source(flow);
  drop_waiting_legs(state);
  end_if_over(state);
}

void P2pExecutor::notify_peers(const OperationState& state, const LinkName& link, Rank reporter) {
  std::set<Rank> peers;
  const auto add_targets = [&](const Transfer& transfer) {
    for (const Rank target : targets_of(transfer)) peers.insert(target);
  };
  for (const SourceFlow& flow : state.sources) add_targets(*flow.transfer);
  for (const TargetFlow& flow : state.targets) {
    peers.insert(flow.transfer->source);
    // The source may have ended already and would then tell nobody.
    add_targets(*flow.transfer);
  }
  // At a barrier everybody waits for everybody.
  if (options_.barrier) {
    for (const Rank member : members_of(state)) peers.insert(member);
  }
  peers.erase(port_.rank());
  // A send stager that reports a link error may itself take part without knowing it there.
  if (state.status.cause != Cause::kLinkError) peers.erase(reporter);
  for (const Rank peer : peers) send_failed(peer, state.status, link);
}

void P2pExecutor::send_failed(Rank peer, const Status& status, const LinkName& link) {
  FailedMessage message;
  message.cause = status.cause;
  message.operation = status.operation;
  message.rank = status.rank;
  message.peer = status.peer;
  message.flow = status.flow;
  message.chunk = status.chunk;
  message.link = link;
  port_.post_message(peer, pack(message));
}

const Status* P2pExecutor::failure_of(const OperationId& id) const {
  const auto found = failed_.find(id);
  return found == failed_.end() ? nullptr : &found->second.first;
}

void P2pExecutor::never_added(const OperationId& id, const Status& status) {
  failed_.try_emplace(id, status, LinkName());
  const auto early = early_readies_.extract(id);
  if (!early) return;
  // They were planned, and have opened their buffers to us.
  for (const auto& [target, message] : early.mapped()) send_stopped(id, target);
}

void P2pExecutor::failed(Rank reporter, const FailedMessage& message) {
  Status status;
  status.cause = message.cause;
  status.rank = message.rank;
  status.peer = message.peer;
  status.link = to_string(message.link);
  status.operation = message.operation;
  status.flow = message.flow;
  status.chunk = message.chunk;
  if (OperationState* state = find(message.operation)) {
    const Rank awaited = awaited_instead(*state, reporter, status);
    if (!awaited.is_none()) {
      fail_at(*state, Cause::kTimeout, awaited, reporter);
    } else {
      fail(*state, status, message.link, reporter);
    }
  } else {
    // The reporter may wait for our last write into its buffer. A zombie tells it when it ends.
    if (find_with_zombies(message.operation) == nullptr) send_stopped(message.operation, reporter);
    // Not submitted here yet: it fails then. (If it has ended already, nobody asks again.)
    failed_.try_emplace(message.operation, status, message.link);
  }
}

/// A target of a multicast that ran out of time blames its source, although that waits for another
/// target: names that one.
Rank P2pExecutor::awaited_instead(const OperationState& state, Rank reporter,
                                  const Status& status) const {
  if (status.cause != Cause::kTimeout || status.peer != port_.rank()) return Rank::none();
  const auto held_up = std::ranges::find_if(state.sources, [&](const SourceFlow& flow) {
    return !flow.admitted() && delivers_to(*flow.transfer, reporter);
  });
  return held_up == state.sources.end() ? Rank::none() : held_up->waiting_for.front();
}

void P2pExecutor::send_stopped(const OperationId& operation, Rank target) {
  FlowMessage message;
  message.kind = MessageKind::kStopped;
  message.operation = operation;
  port_.post_message(target, pack(message));
}

void P2pExecutor::stopped(Rank source, const FlowMessage& message) {
  OperationState* state = find_with_zombies(message.operation);
  if (state == nullptr || !state->failed) return;
  for (TargetFlow& flow : state->targets) {
    if (flow.transfer->source == source) flow.exposed = false;
  }
  end_if_over(*state);
}

/// A lost source touches no memory any more.
void P2pExecutor::close_exposure(Rank source) {
  std::vector<OperationId> affected;
  const auto close = [&](OperationState& state) {
    for (TargetFlow& flow : state.targets) {
      if (!flow.exposed || flow.transfer->source != source) continue;
      flow.exposed = false;
      if (affected.empty() || affected.back() != state.operation.id) {
        affected.push_back(state.operation.id);
      }
    }
  };
  for (const auto& [id, state] : operations_) close(*state);
  for (const auto& zombie : zombies_) close(*zombie);
  for (const OperationId& id : affected) {
    OperationState* state = find_with_zombies(id);
    if (state != nullptr && state->failed) end_if_over(*state);
  }
}

/// Gives back what a failed source flow holds at its send stager. Copies already in the engine give
/// their slots back when they end.
void P2pExecutor::drop_source(SourceFlow& flow) {
  for (const LeaseSegment& segment : flow.segments) {
    if (segment.requested == 0) continue;
    FlowMessage cancel;
    cancel.kind = MessageKind::kLeaseCancel;
    cancel.stage = static_cast<std::uint16_t>(segment.stage);
    cancel.operation = flow.operation->operation.id;
    cancel.flow = flow.id;
    port_.post_message(port_.topology().host_of(flow.place), pack(cancel));
  }
  for (const SlotReference& slot : flow.slots) return_slot(slot);
  flow.slots.clear();
}

void P2pExecutor::drop_waiting_legs(OperationState& state) {
  for (auto& classes : work_) {
    for (EngineWork& waiting : classes) {
      waiting.candidates.drop(state);
      for (const Descriptor& descriptor : waiting.deliveries.drop(state)) pulled(descriptor);
    }
  }
  for (const Descriptor& descriptor : std::exchange(state.parked, {})) pulled(descriptor);
  writes_.drop(state);
}

/// Not only at the end: two ranks that write to each other would wait for each other's word.
void P2pExecutor::tell_stopped(OperationState& state) {
  if (std::exchange(state.stopped, true)) return;
  std::set<Rank> targets;
  for (const SourceFlow& flow : state.sources) {
    if (!goes_through_slots(*flow.transfer)) targets.insert(flow.transfer->target);
  }
  for (const Rank target : targets) send_stopped(state.operation.id, target);
}

/// Ends the operation when nothing of it is left to do. A failed one first waits until no copy or
/// write, of ours or into a buffer of ours, can touch the user's buffers any more. Erases `state`.
void P2pExecutor::end_if_over(OperationState& state) {
  if (state.failed && state.legs_in_flight == 0) tell_stopped(state);
  const bool exposed = std::any_of(state.targets.begin(), state.targets.end(),
                                   [](const TargetFlow& flow) { return flow.exposed; });
  const bool over = state.failed ? state.legs_in_flight == 0 && !exposed
                                 : state.started && state.unfinished_flows == 0;
  if (!over) return;
  const OperationId id = state.operation.id;
  const Status status = state.status;
  if (find(id) == &state) {
    running_.erase(id);
    operations_.erase(id);
    observers_.ended(id, status);
    return;
  }
  std::erase_if(zombies_, [&](const auto& zombie) { return zombie.get() == &state; });
}

void P2pExecutor::abort(std::uint16_t communicator) {
  std::vector<OperationId> victims;
  for (const auto& [id, state] : operations_) {
    if (id.communicator == communicator) victims.push_back(id);
  }
  for (const OperationId& id : victims) {
    OperationState* state = find(id);
    if (state == nullptr) continue;
    fail_at(*state, Cause::kAborted, Rank::none(), port_.rank());
  }
}

bool P2pExecutor::involves(const OperationState& state, Rank rank) const {
  if (options_.barrier && std::ranges::count(members_of(state), rank) > 0) return true;
  const auto touches = [&](const auto& flow) { return passes(*flow.transfer, flow.place, rank); };
  return std::any_of(state.sources.begin(), state.sources.end(), touches) ||
         std::any_of(state.targets.begin(), state.targets.end(), touches);
}

/// `place`: of the slots of a flow that is not sent as the plan says.
bool P2pExecutor::passes(const Transfer& transfer, PlaceId place, Rank rank) const {
  const Topology& topology = port_.topology();
  if (transfer.source == rank || delivers_to(transfer, rank)) return true;
  const auto hosts = [&](NicId nic) { return topology.host_of(topology.place_of(nic)) == rank; };
  switch (transfer.route) {
    case Route::kDirect:
      return !place.is_none() && topology.host_of(place) == rank;
    case Route::kRegistered:
      return false;
    case Route::kRelayed:
      return topology.host_of(transfer.via) == rank;
    case Route::kStaged:
      return hosts(transfer.send_nic) || hosts(transfer.receive_nic) ||
             std::ranges::any_of(transfer.branches, hosts, &Branch::receive_nic);
  }
  HOCCL_CHECK(false, "route {}", static_cast<int>(transfer.route));
}

/// Writes into `status` and `link` how far the operation has come: peer, flow, chunk and link of
/// the first unfinished flow, of one that passes `suspect` if there is any. Keeps a peer that is
/// set.
void P2pExecutor::locate(const OperationState& state, Rank suspect, Status& status,
                         LinkName& link) const {
  bool found = false;
  const auto consider = [&](const auto& flow, Rank peer, std::int64_t chunk) {
    if (flow.done || (found && !passes(*flow.transfer, flow.place, suspect))) return;
    found = true;
    status.flow = flow.id;
    status.chunk = chunk;
    if (suspect.is_none()) status.peer = peer;
    if (!crosses_wire(*flow.transfer)) {
      link.kind = LinkName::Kind::kCopyLane;
      link.copy_class = static_cast<std::uint8_t>(CopyClass::kPeer);
      link.first = 0;
    } else {
      link = nic_pair(flow.transfer->send_nic, flow.transfer->receive_nic);
    }
  };
  // Backwards, so that the first that fits is the last that is taken.
  for (auto flow = state.targets.rbegin(); flow != state.targets.rend(); ++flow) {
    consider(*flow, flow->transfer->source, flow->delivered);
  }
  for (auto flow = state.sources.rbegin(); flow != state.sources.rend(); ++flow) {
    const Rank peer = flow->admitted() ? flow->transfer->target : flow->waiting_for.front();
    consider(*flow, peer, flow->copied);
  }
}

void P2pExecutor::peer_lost(Rank peer) {
  lost_.insert(peer);
  close_exposure(peer);
  std::vector<OperationId> victims;
  for (const auto& [id, state] : operations_) {
    if (!state->failed && involves(*state, peer)) victims.push_back(id);
  }
  for (const OperationId& id : victims) {
    OperationState* state = find(id);
    if (state == nullptr) continue;
    fail_at(*state, Cause::kPeerLost, peer, peer);
  }
}

bool P2pExecutor::quiescent() const {
  return operations_.empty() && zombies_.empty() && copies_.idle() && writes_.idle();
}

}  // namespace hoccl::engine
