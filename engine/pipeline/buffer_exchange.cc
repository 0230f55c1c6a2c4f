// The part of P2pExecutor that exchanges the names of user buffers inside a node (paper §3.3.2):
// the target exports its buffer and names it in its Ready, the source imports it, each once per
// buffer. Where that is refused, chunks go through slots of a third place, out of which the target
// pulls them. Between nodes, where NICs read and write user buffers, both ends register theirs
// instead.

#include <map>
#include <optional>
#include <utility>

#include "engine/pipeline/p2p_executor.h"
#include "engine/pipeline/relay_place.h"
#include "engine/topology/topology.h"

namespace hoccl::engine {

/// Asks once per buffer. What is awaited opened() will say.
P2pExecutor::Answer P2pExecutor::open(Opening opening, BufferHandle buffer) {
  const auto [entry, is_new] = openings_.try_emplace({opening, buffer}, Answer::kAwaited);
  if (is_new) {
    switch (opening) {
      case Opening::kExport:
        port_.export_buffer(buffer);
        break;
      case Opening::kRegister:
        port_.register_buffer(buffer);
        break;
    }
  }
  return entry->second;
}

/// Tells every source that this rank is ready, once per source. A source that writes into our
/// buffer needs its name, too, so that must be open first.
void P2pExecutor::announce(OperationState& state) {
  if (std::exchange(state.announced, true)) return;
  std::map<Rank, std::optional<Opening>> sources;
  for (const TargetFlow& flow : state.targets) {
    std::optional<Opening>& opening = sources[flow.transfer->source];
    if (goes_through_slots(*flow.transfer)) continue;
    opening = crosses_wire(*flow.transfer) ? Opening::kRegister : Opening::kExport;
  }
  const OperationId& id = state.operation.id;
  if (id.target == port_.rank().value() && state.targets.empty()) {
    // An empty message: nothing to receive, but the source may think otherwise.
    send_ready(state, Rank(id.source), BufferAccess::kPulled);
  }
  for (const auto& [source, opening] : sources) {
    if (!opening) {
      send_ready(state, source, BufferAccess::kPulled);
      continue;
    }
    const Answer answer = open(*opening, state.operation.receive_buffer.buffer);
    if (answer == Answer::kAwaited) {
      waiting_for_opening_.push_back({id, source, *opening});
    } else if (!tell_opened(state, source, *opening, answer == Answer::kOk)) {
      return;
    }
  }
  register_sources(state);
}

/// Tells a source how our buffer can be filled. False: it cannot, the operation has failed, and
/// `state` may be gone.
bool P2pExecutor::tell_opened(OperationState& state, Rank source, Opening opening, bool ok) {
  if (ok) {
    send_ready(state, source, BufferAccess::kOpen);
    return true;
  }
  const bool exports = opening == Opening::kExport;
  if (exports &&
      !relay_place(port_, source, port_.rank(), state.operation.plan->chunk_size).is_none()) {
    send_ready(state, source, BufferAccess::kRefused);
    return true;
  }
  fail_at(state, Cause::kCopyError, source, port_.rank(),
          exports ? LinkName::Kind::kExport : LinkName::Kind::kRegister);
  return false;
}

/// So that our NICs can read what they are to send.
void P2pExecutor::register_sources(OperationState& state) {
  for (const SourceFlow& flow : state.sources) {
    if (flow.transfer->route == Route::kRegistered) open(Opening::kRegister, flow.buffer().buffer);
  }
}

void P2pExecutor::send_ready(OperationState& state, Rank source, BufferAccess access) {
  for (TargetFlow& flow : state.targets) {
    if (flow.transfer->source != source || goes_through_slots(*flow.transfer)) continue;
    if (access == BufferAccess::kOpen) {
      flow.exposed = true;
    } else {
      flow.place = relay_place(port_, source, port_.rank(), state.operation.plan->chunk_size);
    }
  }
  ReadyMessage message;
  message.operation = state.operation.id;
  message.access = access;
  message.buffer = state.operation.receive_buffer.buffer;
  message.offset = state.operation.receive_buffer.offset.count();
  message.message_size_bytes = state.operation.plan->message_size.count();
  port_.post_message(source, pack(message));
}

void P2pExecutor::opened(Opening opening, BufferHandle buffer, bool ok) {
  openings_[{opening, buffer}] = ok ? Answer::kOk : Answer::kRefused;
  std::vector<WaitingOpening> still_waiting;
  for (const WaitingOpening& waiting : std::exchange(waiting_for_opening_, {})) {
    OperationState* state = find(waiting.operation);
    if (state == nullptr || state->failed) continue;
    if (waiting.opening != opening || state->operation.receive_buffer.buffer != buffer) {
      still_waiting.push_back(waiting);
    } else {
      (void)tell_opened(*state, waiting.source, opening, ok);
    }
  }
  waiting_for_opening_.insert(waiting_for_opening_.end(), still_waiting.begin(),
                              still_waiting.end());
  // NICs may have room for it later, and nothing goes round them.
  if (!ok && opening == Opening::kRegister) openings_.erase({opening, buffer});
}

/// Our NICs can read it, too.
void P2pExecutor::registered(const BufferRegistered& done) {
  opened(Opening::kRegister, done.buffer, done.ok);
  std::vector<OperationId> ids;
  for (const auto& [id, state] : operations_) ids.push_back(id);
  for (const OperationId& id : ids) {
    OperationState* state = find(id);
    if (state == nullptr || state->failed) continue;
    for (SourceFlow& flow : state->sources) {
      if (flow.transfer->route != Route::kRegistered || flow.buffer().buffer != done.buffer) {
        continue;
      }
      if (done.ok) {
        queue_write(flow);
        continue;
      }
      fail_at(*state, Cause::kCopyError, flow.transfer->target, port_.rank(),
              LinkName::Kind::kRegister);
      break;
    }
  }
}

/// How our flows to a ready target get there: into its buffer if that is open and we can import it,
/// else through slots. False: that is not known yet, or they do not; then the operation has failed,
/// and `state` may be gone.
bool P2pExecutor::reach(OperationState& state, Rank target, const ReadyMessage& message) {
  if (message.access == BufferAccess::kPulled) return true;
  if (message.access == BufferAccess::kRefused) {
    return relay(state, target, LinkName::Kind::kExport);
  }
  const auto [entry, is_new] = imports_.try_emplace(message.buffer, Answer::kAwaited);
  if (is_new) port_.import_buffer(message.buffer);
  switch (entry->second) {
    case Answer::kOk:
      return true;
    case Answer::kAwaited:
      waiting_for_import_.push_back({state.operation.id, target, message});
      return false;
    case Answer::kRefused:
      return relay(state, target, LinkName::Kind::kImport);
  }
  return false;
}

/// Sends our direct flows to a target through slots of a third place; it pulls what lands there,
/// whatever its plan says. As reach().
bool P2pExecutor::relay(OperationState& state, Rank target, LinkName::Kind refused) {
  const PlaceId place = relay_place(port_, port_.rank(), target, state.operation.plan->chunk_size);
  if (place.is_none()) {
    fail_at(state, Cause::kCopyError, target, port_.rank(), refused);
    return false;
  }
  for (SourceFlow& flow : state.sources) {
    if (flow.transfer->route != Route::kDirect || flow.transfer->target != target) continue;
    lease_at(flow, place);
    if (flow.depends()) flow.segments.front().unrequested = std::ssize(flow.available);
  }
  const Rank host = port_.topology().host_of(place);
  if (!lost_.contains(host)) return true;
  fail_at(state, Cause::kPeerLost, host, host);
  return false;
}

void P2pExecutor::imported(const BufferImported& done) {
  imports_[done.buffer] = done.ok ? Answer::kOk : Answer::kRefused;
  for (const WaitingImport& waiting : std::exchange(waiting_for_import_, {})) {
    OperationState* state = find(waiting.operation);
    if (state == nullptr) continue;
    if (waiting.ready.buffer != done.buffer) {
      waiting_for_import_.push_back(waiting);
    } else {
      admit(*state, waiting.target, waiting.ready);
    }
  }
  // As in opened().
  const Topology& topology = port_.topology();
  const bool by_nics = topology.node_of(done.buffer.owner) != topology.node_of(port_.rank());
  if (!done.ok && by_nics) imports_.erase(done.buffer);
}

}  // namespace hoccl::engine
