// The part of P2pExecutor that acts because time passes: operations without progress are ended, and
// background that has waited long enough is let through.

#include <utility>
#include <vector>

#include "engine/pipeline/p2p_executor.h"

namespace hoccl::engine {

std::optional<Seconds> P2pExecutor::next_deadline() const {
  std::optional<Seconds> next;
  for (const auto& [id, state] : running_) {
    const Seconds deadline = state->last_progress + options_.timeout;
    if (!next || deadline < *next) next = deadline;
  }
  for (const CopyClass copy_class : kCopyClasses) {
    // An engine without room tells us itself when it has some.
    const auto deadline = background_deadline(copy_class);
    if (deadline && copies_.has_room(copy_class) && (!next || *deadline < *next)) next = deadline;
  }
  return next;
}

void P2pExecutor::end_overdue(Seconds now) {
  std::vector<OperationId> overdue;
  for (const auto& [id, state] : running_) {
    if (state->last_progress + options_.timeout <= now) overdue.push_back(id);
  }
  if (overdue.empty()) return;
  std::vector<OperationId> stalled = overdue;
  std::erase_if(stalled, [this](const OperationId& id) { return find(id)->failed; });
  if (!stalled.empty()) observers_.stalled(stalled);
  for (const OperationId& id : overdue) {
    OperationState* state = find(id);
    if (state == nullptr) continue;
    if (!state->failed) {
      fail_at(*state, Cause::kTimeout, Rank::none(), port_.rank());
      continue;
    }
    // Copies never ended, or a silent source may still write. Report it, but keep what the engine
    // may still refer to.
    running_.erase(id);
    auto node = operations_.extract(id);
    const Status status = node.mapped()->status;
    zombies_.push_back(std::move(node.mapped()));
    observers_.ended(id, status);
  }
}

void P2pExecutor::background_posted(CopyClass copy_class, FlowClass flow_class) {
  if (flow_class == FlowClass::kBackground) {
    patience_[static_cast<std::size_t>(copy_class)].served();
  }
}

/// A gap in the foreground work in which nothing could be posted does not start the wait anew, so
/// that background gets on however the foreground work is spread.
void P2pExecutor::watch_background(CopyClass copy_class) {
  patience_[static_cast<std::size_t>(copy_class)].watch(
      !work(copy_class, FlowClass::kBackground).empty(), port_.now());
}

std::optional<Seconds> P2pExecutor::background_deadline(CopyClass copy_class) const {
  const auto index = static_cast<std::size_t>(copy_class);
  if (work_[index][static_cast<std::size_t>(FlowClass::kBackground)].empty()) return std::nullopt;
  return patience_[index].deadline(options_.background_patience);
}

}  // namespace hoccl::engine
