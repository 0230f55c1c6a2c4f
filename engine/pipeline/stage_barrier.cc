#include "engine/pipeline/stage_barrier.h"

#include <algorithm>

namespace hoccl::engine {

void StageBarrier::done_below(const OperationId& operation, const std::vector<Rank>& members,
                              std::int32_t stage) {
  if (members.front() == port_.rank()) {
    State& state = operations_[operation];
    if (state.to_tell.empty()) state.to_tell = members;
  }
  StageMessage message;
  message.kind = MessageKind::kStageDone;
  message.operation = operation;
  message.stage = stage;
  port_.post_message(members.front(), pack(message));
}

void StageBarrier::stage_done(Rank source, const StageMessage& message) {
  State& state = operations_[message.operation];
  state.next[source] = message.stage;
  open_if_all_are_there(message.operation, state);
}

/// Erases `state` when nobody sends any more.
void StageBarrier::open_if_all_are_there(const OperationId& operation, State& state) {
  if (state.to_tell.empty() || state.next.size() < state.to_tell.size()) return;
  const std::int32_t lowest = std::ranges::min_element(state.next, {}, [](const auto& entry) {
                                return entry.second;
                              })->second;
  if (lowest <= state.open) return;
  state.open = lowest;
  if (lowest == kNoMore) {
    operations_.erase(operation);
    return;
  }
  StageMessage message;
  message.kind = MessageKind::kStageOpen;
  message.operation = operation;
  message.stage = lowest;
  for (const Rank member : state.to_tell) port_.post_message(member, pack(message));
}

}  // namespace hoccl::engine
