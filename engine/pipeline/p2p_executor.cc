#include "engine/pipeline/p2p_executor.h"

#include <algorithm>
#include <utility>

#include "engine/base/check.h"
#include "engine/topology/topology.h"

namespace hoccl::engine {
namespace {

template <class Flow>
Flow* find_flow(std::vector<Flow>& flows, FlowId id) {
  const auto found =
      std::lower_bound(flows.begin(), flows.end(), id,
                       [](const Flow& flow, FlowId wanted) { return flow.id < wanted; });
  return found != flows.end() && found->id == id ? &*found : nullptr;
}

}  // namespace

P2pExecutor::P2pExecutor(Port& port, const PipelineOptions& options, Observers observers)
    : port_(port),
      options_(options),
      observers_(std::move(observers)),
      copies_(port, options),
      writes_(port, options),
      barrier_(port) {}

P2pExecutor::~P2pExecutor() = default;

OperationState* P2pExecutor::find(const OperationId& id) {
  const auto entry = operations_.find(id);
  return entry == operations_.end() ? nullptr : entry->second.get();
}

OperationState* P2pExecutor::find_with_zombies(const OperationId& id) {
  if (OperationState* state = find(id)) return state;
  const auto zombie = std::find_if(zombies_.begin(), zombies_.end(), [&](const auto& candidate) {
    return candidate->operation.id == id;
  });
  return zombie == zombies_.end() ? nullptr : zombie->get();
}

OperationId P2pExecutor::sequence_of(OperationId id) {
  id.number = 0;
  return id;
}

bool P2pExecutor::has_ended(const OperationId& id) const {
  const auto next = next_number_.find(sequence_of(id));
  return next != next_number_.end() && id.number < next->second && !operations_.contains(id);
}

void P2pExecutor::add(const Operation& operation) {
  const auto [entry, is_new] =
      operations_.emplace(operation.id, std::make_unique<OperationState>());
  HOCCL_CHECK(is_new, "operation {} added twice", operation.id);
  OperationState& state = *entry->second;
  state.operation = operation;
  state.number = next_operation_++;
  next_number_[sequence_of(operation.id)] = operation.id.number + 1;
  build_flows(state);
  port_.account(CpuWork::kPlanFlow, static_cast<std::int64_t>(state.unfinished_flows));
  progress(state);
  if (const auto early = early_readies_.extract(operation.id)) state.readies = early.mapped();
  if (const auto failed = failed_.find(operation.id); failed != failed_.end()) {
    fail(state, failed->second.first, failed->second.second, failed->second.first.rank);
    return;
  }
  for (const Rank lost : lost_) {
    if (!involves(state, lost)) continue;
    fail_at(state, Cause::kPeerLost, lost, lost);
    return;
  }
  if (!options_.admission) announce(state);
}

void P2pExecutor::build_flows(OperationState& state) {
  const Plan& plan = *state.operation.plan;
  for (const Transfer& transfer : plan.transfers) {
    if (transfer.source == port_.rank()) build_source(state, transfer);
    if (!delivers_to(transfer, port_.rank())) continue;
    TargetFlow flow;
    flow.operation = &state;
    flow.id = transfer.id;
    flow.transfer = &transfer;
    flow.chunks = chunks_of(transfer, plan.chunk_size);
    if (transfer.route != Route::kDirect) {
      state.unfinished_ahead += 1;
      if (transfer.route == Route::kStaged) state.staged_in += flow.chunks;
    }
    state.targets.push_back(std::move(flow));
  }
  state.unfinished_flows = state.sources.size() + state.targets.size();
  link_dependents(state);
}

void P2pExecutor::build_source(OperationState& state, const Transfer& transfer) {
  SourceFlow flow;
  flow.operation = &state;
  flow.id = transfer.id;
  flow.transfer = &transfer;
  flow.chunks = chunks_of(transfer, state.operation.plan->chunk_size);
  flow.waiting_for = targets_of(transfer);
  switch (transfer.route) {
    case Route::kDirect:
      break;
    case Route::kStaged:
      lease_at(flow, port_.topology().place_of(transfer.send_nic));
      state.staged_out += flow.chunks;
      break;
    case Route::kRelayed:
      lease_at(flow, transfer.via);
      break;
    case Route::kRegistered:
      build_segments(flow);
      break;
  }
  if (transfer.route != Route::kDirect) state.unfinished_ahead += 1;
  state.sources.push_back(std::move(flow));
}

/// Ties flows to those whose chunks they pass on.
void P2pExecutor::link_dependents(OperationState& state) {
  for (const Transfer& transfer : state.operation.plan->transfers) {
    if (transfer.after.is_none()) continue;
    if (SourceFlow* before = find_flow(state.sources, transfer.after)) before->stepwise = true;
    if (transfer.source != port_.rank()) continue;
    TargetFlow* before = find_flow(state.targets, transfer.after);
    HOCCL_CHECK(before != nullptr, "operation {} flow {} passes on flow {}, which never comes",
                state.operation.id, transfer.id, transfer.after);
    before->passed_on.push_back(transfer.id);
    if (crosses_wire(transfer)) before->leaves_again = true;
  }
}

void P2pExecutor::start(const OperationId& id) {
  OperationState* state = find(id);
  if (state == nullptr) return;  // it failed before its stream came here
  state->started = true;
  running_.emplace(id, state);
  progress(*state);
  announce(*state);
  state = find(id);
  if (state == nullptr || state->failed) return;  // nobody can write into its buffer
  if (options_.barrier) report_stage(*state);
  for (const auto& [target, message] : std::exchange(state->readies, {})) {
    admit(*state, target, message);
    state = find(id);
    if (state == nullptr) return;  // the sizes did not match
  }
  for (const Descriptor& descriptor : std::exchange(state->parked, {})) {
    queue_delivery(*state, descriptor);
  }
  end_if_over(*state);
}

void P2pExecutor::ready(Rank target, const ReadyMessage& message) {
  OperationState* state = find(message.operation);
  if (state == nullptr) {
    if (const auto failed = failed_.find(message.operation); failed != failed_.end()) {
      send_failed(target, failed->second.first, failed->second.second);
      // A zombie tells it when it ends.
      if (find_with_zombies(message.operation) == nullptr) send_stopped(message.operation, target);
      return;
    }
    if (has_ended(message.operation)) {
      // Well, and without this target's Ready: our message was empty.
      if (message.message_size_bytes == 0) return;
      refuse_size(message.operation, target);
      return;
    }
    early_readies_[message.operation].emplace_back(target, message);
  } else if (state->started) {
    admit(*state, target, message);
  } else {
    state->readies.emplace_back(target, message);
  }
}

/// Tells a target that waits for more than our empty message that nothing will come.
void P2pExecutor::refuse_size(const OperationId& id, Rank target) {
  send_failed(target, status_of(id, Cause::kSizeMismatch, target), {});
  send_stopped(id, target);
}

/// Admission: only when all targets of a flow are ready may its chunks take slots or cross the
/// network.
void P2pExecutor::admit(OperationState& state, Rank target, const ReadyMessage& message) {
  if (state.failed) return;
  progress(state);
  if (message.message_size_bytes != state.operation.plan->message_size.count()) {
    // An empty message of ours has no flow by which fail() would find the target.
    if (state.sources.empty()) refuse_size(state.operation.id, target);
    fail_at(state, Cause::kSizeMismatch, target, port_.rank());
    return;
  }
  if (!reach(state, target, message)) return;
  for (SourceFlow& flow : state.sources) {
    if (!delivers_to(*flow.transfer, target)) continue;
    HOCCL_CHECK(std::erase(flow.waiting_for, target) == 1,
                "operation {} flow {}: rank {} was ready twice", state.operation.id, flow.id,
                target);
    if (!flow.admitted()) continue;
    if (flow.leased()) {
      want_lease(flow);
    } else {
      HOCCL_CHECK(message.access == BufferAccess::kOpen,
                  "operation {} flow {} has no target buffer", state.operation.id, flow.id);
      flow.target_buffer = {message.buffer, Bytes(message.offset),
                            state.operation.send_buffer.size};
      queue_leg(flow);
    }
  }
}

void P2pExecutor::granted(const LeaseGrantMessage& message) {
  OperationState* state = find(message.operation);
  SourceFlow* flow = state == nullptr ? nullptr : find_flow(state->sources, message.flow);
  for (std::size_t i = 0; i < message.count; ++i) {
    if (flow == nullptr || state->failed) {
      return_slot(message.slots[i]);
    } else {
      flow->slots.push_back(message.slots[i]);
    }
  }
  if (flow == nullptr || state->failed) return;
  progress(*state);
  queue_candidate(*flow);
}

void P2pExecutor::flow_sent(const FlowMessage& message) {
  OperationState* state = find(message.operation);
  if (state == nullptr || state->failed) return;
  SourceFlow* flow = find_flow(state->sources, message.flow);
  HOCCL_CHECK(flow != nullptr && flow->sent + message.chunks <= flow->copied,
              "operation {} flow {} was sent before it was copied", message.operation,
              message.flow);
  flow->sent += message.chunks;
  progress(*state);
  if (options_.barrier && flow->transfer->route == Route::kStaged) {
    const auto segment = std::ranges::find(flow->segments, message.stage, &LeaseSegment::stage);
    state->unsent.at(segment->gate) -= message.chunks;
    report_stage(*state);
  }
  if (flow->sent < flow->chunks) return;
  flow->done = true;
  flow_done(*state, *flow->transfer);
}

void P2pExecutor::landed(const Descriptor& descriptor) {
  OperationState* state = find(descriptor.operation);
  if (state == nullptr || state->failed) {
    pulled(descriptor);  // nobody wants it any more
  } else if (state->started) {
    queue_delivery(*state, descriptor);
  } else {
    state->parked.push_back(descriptor);
  }
}

void P2pExecutor::queue_delivery(OperationState& state, const Descriptor& descriptor) {
  TargetFlow* flow = find_flow(state.targets, FlowId(descriptor.flow));
  HOCCL_CHECK(flow != nullptr, "operation {} flow {} landed at rank {}, which is not its target",
              descriptor.operation, descriptor.flow, port_.rank());
  progress(state);
  if (flow->transfer->route == Route::kDirect) {
    // So the source does not write into our buffer; perhaps it could not import it.
    flow->place = PlaceId(descriptor.place);
    flow->exposed = false;
  }
  work(class_of(PlaceId(descriptor.place), false), flow->transfer->flow_class)
      .deliveries.push({flow, descriptor});
}

void P2pExecutor::delivered(const FlowMessage& message) {
  // Stepwise, chunks of several lanes may come in any order.
  brought(message.operation, message.flow, message.chunk);
}

void P2pExecutor::arrived(const Descriptor& descriptor) {
  port_.account(CpuWork::kBookkeeping, 1);
  brought(descriptor.operation, FlowId(descriptor.flow), descriptor.chunk);
}

/// A source has written a chunk into our buffer, or (-1) all of them.
void P2pExecutor::brought(const OperationId& operation, FlowId id, std::int64_t chunk) {
  OperationState* state = find_with_zombies(operation);
  if (state == nullptr) return;
  TargetFlow* flow = find_flow(state->targets, id);
  HOCCL_CHECK(flow != nullptr && !flow->done, "operation {} flow {} was delivered twice", operation,
              id);
  const bool whole = chunk < 0;
  flow->delivered = whole ? flow->chunks : flow->delivered + 1;
  if (!whole && !state->failed) {
    progress(*state);
    chunk_delivered(*flow, chunk);
  }
  if (flow->delivered < flow->chunks) return;
  flow->exposed = false;
  flow->done = true;
  if (state->failed) {
    end_if_over(*state);
  } else {
    flow_done(*state, *flow->transfer);
  }
}

void P2pExecutor::flow_done(OperationState& state, const Transfer& transfer) {
  progress(state);
  state.unfinished_flows -= 1;
  if (transfer.route != Route::kDirect) {
    state.unfinished_ahead -= 1;
    if (!options_.fills_slack() && state.unfinished_ahead == 0) {
      for (SourceFlow& flow : state.sources) queue_leg(flow);
    }
  }
  end_if_over(state);
}

CopyClass P2pExecutor::class_of(PlaceId place, bool into_place) const {
  if (!port_.topology().is_host(place)) return CopyClass::kPeer;
  return into_place ? CopyClass::kDeviceToHost : CopyClass::kHostToDevice;
}

}  // namespace hoccl::engine
