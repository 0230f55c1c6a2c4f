// The part of P2pExecutor that exchanges the names of user buffers inside a node (paper §3.3.2):
// the target exports its buffer and names it in its Ready, the source imports it, each once per
// buffer. Between nodes, where NICs read and write user buffers, both ends register theirs instead.

#include <map>
#include <optional>
#include <utility>

#include "engine/pipeline/p2p_executor.h"

namespace hoccl::engine {

/// True when the buffer is open already; else opened() will say.
bool P2pExecutor::open(Opening opening, BufferHandle buffer) {
  const auto [entry, is_new] = openings_.try_emplace({opening, buffer}, false);
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
    send_ready(state, Rank(id.source), false);
  }
  for (const auto& [source, opening] : sources) {
    if (!opening || open(*opening, state.operation.receive_buffer.buffer)) {
      send_ready(state, source, opening.has_value());
    } else {
      waiting_for_opening_.push_back({id, source, *opening});
    }
  }
  register_sources(state);
}

/// So that our NICs can read what they are to send.
void P2pExecutor::register_sources(OperationState& state) {
  for (const SourceFlow& flow : state.sources) {
    if (flow.transfer->route == Route::kRegistered) open(Opening::kRegister, flow.buffer().buffer);
  }
}

void P2pExecutor::send_ready(OperationState& state, Rank source, bool buffer_open) {
  for (TargetFlow& flow : state.targets) {
    if (flow.transfer->source == source && !goes_through_slots(*flow.transfer)) flow.exposed = true;
  }
  ReadyMessage message;
  message.operation = state.operation.id;
  message.exported = buffer_open ? 1 : 0;
  message.buffer = state.operation.receive_buffer.buffer;
  message.offset = state.operation.receive_buffer.offset.count();
  message.message_size_bytes = state.operation.plan->message_size.count();
  port_.post_message(source, pack(message));
}

void P2pExecutor::opened(Opening opening, BufferHandle buffer, bool ok) {
  openings_[{opening, buffer}] = true;
  const LinkName::Kind exchange =
      opening == Opening::kExport ? LinkName::Kind::kExport : LinkName::Kind::kRegister;
  std::vector<WaitingOpening> still_waiting;
  for (const WaitingOpening& waiting : std::exchange(waiting_for_opening_, {})) {
    OperationState* state = find(waiting.operation);
    if (state == nullptr || state->failed) continue;
    if (waiting.opening != opening || state->operation.receive_buffer.buffer != buffer) {
      still_waiting.push_back(waiting);
    } else if (ok) {
      send_ready(*state, waiting.source, true);
    } else {
      fail_at(*state, Cause::kCopyError, waiting.source, port_.rank(), exchange);
    }
  }
  waiting_for_opening_.insert(waiting_for_opening_.end(), still_waiting.begin(),
                              still_waiting.end());
  if (!ok) openings_.erase({opening, buffer});
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

void P2pExecutor::imported(const BufferImported& done) {
  imports_[done.buffer] = true;
  for (const WaitingImport& waiting : std::exchange(waiting_for_import_, {})) {
    OperationState* state = find(waiting.operation);
    if (state == nullptr) continue;
    if (waiting.ready.buffer != done.buffer) {
      waiting_for_import_.push_back(waiting);
    } else if (done.ok) {
      admit(*state, waiting.target, waiting.ready);
    } else {
      fail_at(*state, Cause::kCopyError, waiting.target, port_.rank(), LinkName::Kind::kImport);
    }
  }
  if (!done.ok) imports_.erase(done.buffer);
}

}  // namespace hoccl::engine
