#include "engine/pipeline/stream_manager.h"

#include <algorithm>
#include <utility>

#include "engine/base/check.h"

namespace hoccl::engine {

StreamManager::StreamManager(Port& port, std::function<void(const OperationId&)> start)
    : port_(port), start_(std::move(start)) {}

void StreamManager::submit(const SubmitGroup& submitted) {
  GateState& state = gates_[submitted.gate];
  const Sequence last = state.groups.empty() ? state.opened : state.groups.back().sequence;
  HOCCL_CHECK(submitted.sequence > last, "sequence {} submitted after {}", submitted.sequence,
              last);
  Group group;
  group.sequence = submitted.sequence;
  group.work = submitted.work;
  group.unfinished = submitted.operations.size();
  for (const Operation& operation : submitted.operations) {
    group.operations.push_back(operation.id);
    const bool is_new =
        group_of_.emplace(operation.id, std::pair(submitted.gate, submitted.sequence)).second;
    HOCCL_CHECK(is_new, "operation {} submitted twice", operation.id);
  }
  state.groups.push_back(std::move(group));
  changed_.push_back(submitted.gate);
}

void StreamManager::gate_reached(const GateReached& reached) {
  GateState& state = gates_[reached.gate];
  state.reached = std::max(state.reached, reached.sequence);
  changed_.push_back(reached.gate);
}

void StreamManager::start_reached(GateState& state) {
  for (Group& group : state.groups) {
    if (group.sequence > state.reached) return;
    if (group.started) continue;
    group.started = true;
    for (const OperationId& operation : group.operations) start_(operation);
  }
}

void StreamManager::operation_ended(const OperationId& operation, const Status& status) {
  const auto entry = group_of_.find(operation);
  HOCCL_CHECK(entry != group_of_.end(), "operation {} ended twice", operation);
  const auto [gate, sequence] = entry->second;
  group_of_.erase(entry);
  GateState& state = gates_.at(gate);
  const auto group =
      std::find_if(state.groups.begin(), state.groups.end(),
                   [wanted = sequence](const Group& g) { return g.sequence == wanted; });
  HOCCL_CHECK(group != state.groups.end(), "operation {} has no group", operation);
  if (group->first_error.ok()) group->first_error = status;
  group->unfinished -= 1;
  changed_.push_back(gate);
}

void StreamManager::act() {
  // Starting a group can end it at once and append to changed_: an index, not an iterator.
  for (std::size_t i = 0; i < changed_.size(); ++i) {
    const Gate gate = changed_[i];
    start_reached(gates_.at(gate));
    open_ended(gate, gates_.at(gate));
  }
  changed_.clear();
}

/// Ends groups in sequence order: a later one waits, so that `opened` stays cumulative.
void StreamManager::open_ended(Gate gate, GateState& state) {
  while (!state.groups.empty() && state.groups.front().unfinished == 0 &&
         state.groups.front().started) {
    const Group& group = state.groups.front();
    state.opened = group.sequence;
    port_.finish(group.work, group.first_error);
    port_.open_gate(gate, group.sequence);
    state.groups.pop_front();
  }
}

bool StreamManager::idle() const {
  return std::all_of(gates_.begin(), gates_.end(),
                     [](const auto& entry) { return entry.second.groups.empty(); });
}

}  // namespace hoccl::engine
