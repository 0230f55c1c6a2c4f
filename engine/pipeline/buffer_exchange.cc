// The part of P2pExecutor that exchanges the names of user buffers inside a node (paper §3.3.2):
// the target exports its buffer and names it in its Ready, the source imports it, each once per
// buffer.

#include <map>
#include <utility>

#include "engine/pipeline/p2p_executor.h"

namespace hoccl::engine {

/// Tells every source that this rank is ready, once per source. A direct source also needs our
/// buffer's name, which must be exported first.
void P2pExecutor::announce(OperationState& state) {
  if (std::exchange(state.announced, true)) return;
  std::map<Rank, bool> direct_from;
  for (const TargetFlow& flow : state.targets) {
    direct_from[flow.transfer->source] |= flow.transfer->route == Route::kDirect;
  }
  const OperationId& id = state.operation.id;
  if (id.target == port_.rank().value() && state.targets.empty()) {
    // An empty message: nothing to receive, but the source may think otherwise.
    send_ready(state, Rank(id.source), false);
  }
  const BufferHandle buffer = state.operation.receive_buffer.buffer;
  for (const auto& [source, direct] : direct_from) {
    if (!direct) {
      send_ready(state, source, false);
      continue;
    }
    const auto [entry, is_new] = exports_.try_emplace(buffer, false);
    if (is_new) port_.export_buffer(buffer);
    if (entry->second) {
      send_ready(state, source, true);
    } else {
      waiting_for_export_.emplace_back(state.operation.id, source);
    }
  }
}

void P2pExecutor::send_ready(OperationState& state, Rank source, bool buffer_exported) {
  for (TargetFlow& flow : state.targets) {
    if (flow.transfer->source == source && flow.transfer->route == Route::kDirect) {
      flow.exposed = true;
    }
  }
  ReadyMessage message;
  message.operation = state.operation.id;
  message.exported = buffer_exported ? 1 : 0;
  message.buffer = state.operation.receive_buffer.buffer;
  message.offset = state.operation.receive_buffer.offset.count();
  message.message_size_bytes = state.operation.plan->message_size.count();
  port_.post_message(source, pack(message));
}

void P2pExecutor::exported(const BufferExported& done) {
  exports_[done.buffer] = true;
  std::vector<std::pair<OperationId, Rank>> still_waiting;
  for (const auto& [id, source] : std::exchange(waiting_for_export_, {})) {
    OperationState* state = find(id);
    if (state == nullptr || state->failed) continue;
    if (state->operation.receive_buffer.buffer != done.buffer) {
      still_waiting.emplace_back(id, source);
    } else if (done.ok) {
      send_ready(*state, source, true);
    } else {
      fail_at(*state, Cause::kCopyError, source, port_.rank(), LinkName::Kind::kExport);
    }
  }
  waiting_for_export_.insert(waiting_for_export_.end(), still_waiting.begin(), still_waiting.end());
  if (!done.ok) exports_.erase(done.buffer);
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
