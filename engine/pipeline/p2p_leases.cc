// The part of P2pExecutor that asks for send slots, and that passes on what has come.

#include <algorithm>
#include <utility>

#include "engine/base/check.h"
#include "engine/pipeline/p2p_executor.h"
#include "engine/topology/topology.h"

namespace hoccl::engine {

namespace {

/// The leg of `transfer` that delivers to `target`.
Branch leg_to(const Transfer& transfer, Rank target) {
  for (const Branch& branch : transfer.branches) {
    if (branch.target == target || std::ranges::count(branch.more_targets, target) > 0) {
      return branch;
    }
  }
  return {.receive_nic = transfer.receive_nic,
          .target = transfer.target,
          .stage = transfer.stage,
          .stage_list = transfer.stage_list};
}

/// The stage in which a chunk crosses the network before `transfer` passes it on; 0 where it does
/// not.
std::int32_t stage_before(const Plan& plan, const Transfer& transfer, std::int64_t chunk) {
  const Transfer* at = &transfer;
  while (!at->after.is_none()) {
    const auto before = std::ranges::lower_bound(plan.transfers, at->after, {}, &Transfer::id);
    if (crosses_wire(*before)) {
      return stage_at(plan, leg_to(*before, at->source), chunks_of(transfer, plan.chunk_size),
                      chunk);
    }
    at = &*before;
  }
  return 0;
}

}  // namespace

/// Its chunks go through send slots of that place.
void P2pExecutor::lease_at(SourceFlow& flow, PlaceId place) {
  const Transfer& transfer = *flow.transfer;
  flow.place = place;
  flow.copy_class = class_of(place, true);
  flow.local_targets = local_targets_of(port_.topology(), transfer.target, transfer.more_targets);
  build_segments(flow);
}

/// A flow of several stages is leased stage by stage, so that its send stager can put first what
/// comes first.
void P2pExecutor::build_segments(SourceFlow& flow) {
  const Transfer& transfer = *flow.transfer;
  const Plan& plan = *flow.operation->operation.plan;
  std::int64_t begin = 0;
  for (const StageSegment& segment : segments_of(plan, transfer)) {
    LeaseSegment lease;
    lease.stage = segment.stage;
    lease.gate = segment.stage;
    lease.begin = begin;
    lease.chunks = segment.chunks;
    for (const Branch& branch : transfer.branches) {
      lease.gate = std::max(lease.gate, stage_at(plan, branch, flow.chunks, begin));
    }
    begin += segment.chunks;
    // Stages may be in another order than a chunk's hops, which would wait for each other then.
    if (options_.barrier) {
      lease.gate = std::max(lease.gate, stage_before(plan, transfer, begin - 1));
    }
    if (!flow.depends()) lease.unrequested = lease.chunks;
    if (options_.barrier && crosses_wire(transfer)) {
      flow.operation->unsent[lease.gate] += lease.chunks;
    }
    flow.segments.push_back(lease);
  }
}

/// Its chunks that are there will be asked for in act().
void P2pExecutor::want_lease(SourceFlow& flow) {
  wanting_.emplace_back(flow.operation->operation.id, flow.id);
}

/// With barriers: its stage has not begun.
bool P2pExecutor::is_held(const SourceFlow& flow, const LeaseSegment& segment) const {
  return options_.barrier && crosses_wire(*flow.transfer) &&
         segment.gate > flow.operation->open_stage;
}

void P2pExecutor::request_leases(SourceFlow& flow) {
  for (LeaseSegment& segment : flow.segments) {
    if (segment.unrequested == 0) continue;
    if (!is_held(flow, segment)) send_lease_request(flow, segment);
  }
}

void P2pExecutor::send_lease_request(SourceFlow& flow, LeaseSegment& segment) {
  const Transfer& transfer = *flow.transfer;
  const Topology& topology = port_.topology();
  const Plan& plan = *flow.operation->operation.plan;
  const Rank host = topology.host_of(flow.place);
  for (const Branch& branch : transfer.branches) {
    LeaseBranchMessage message;
    message.stage = static_cast<std::uint16_t>(
        stage_at(plan, branch, flow.chunks, segment.begin + segment.requested));
    message.operation = flow.operation->operation.id;
    message.flow = flow.id;
    message.target = branch.target;
    message.receive_nic = branch.receive_nic;
    message.local_targets = local_targets_of(topology, branch.target, branch.more_targets);
    port_.post_message(host, pack(message));
  }
  LeaseRequestMessage message;
  message.traffic_class = static_cast<std::uint8_t>(transfer.flow_class);
  message.stage = static_cast<std::uint16_t>(segment.stage);
  message.operation = flow.operation->operation.id;
  message.flow = flow.id;
  message.target = transfer.target;
  message.send_nic = transfer.send_nic;
  message.receive_nic = transfer.receive_nic;
  message.place = flow.place;
  message.chunks = static_cast<std::int32_t>(std::exchange(segment.unrequested, 0));
  message.first = static_cast<std::int32_t>(segment.requested);
  message.total = static_cast<std::int32_t>(segment.chunks);
  message.branches = static_cast<std::int32_t>(transfer.branches.size());
  segment.requested += message.chunks;
  port_.post_message(host, pack(message));
}

/// A chunk lies in our buffer: flows that pass it on may go on.
void P2pExecutor::chunk_delivered(TargetFlow& flow, std::int64_t chunk) {
  for (const FlowId id : flow.passed_on) {
    const auto next = std::ranges::lower_bound(flow.operation->sources, id, {}, &SourceFlow::id);
    chunk_available(*next, chunk);
  }
}

void P2pExecutor::chunk_available(SourceFlow& flow, std::int64_t chunk) {
  HOCCL_CHECK(chunk >= 0 && chunk < flow.chunks, "flow {} has no chunk {}", flow.id, chunk);
  // In order, though they may come in another: slots are leased stage by stage, and a chunk of a
  // later stage must not take one of an earlier.
  flow.available.insert(std::ranges::upper_bound(flow.available, chunk), chunk);
  if (flow.leased()) {
    flow.segment_of(chunk).unrequested += 1;
    if (flow.admitted()) want_lease(flow);
  }
  queue_leg(flow);
}

/// With barriers: tells the operation's first rank what we have sent.
void P2pExecutor::report_stage(OperationState& state) {
  if (!state.started) return;
  std::erase_if(state.unsent, [](const auto& entry) { return entry.second == 0; });
  const std::int32_t next =
      state.unsent.empty() ? StageBarrier::kNoMore : state.unsent.begin()->first;
  if (next <= state.reported_stage) return;
  state.reported_stage = next;
  barrier_.done_below(state.operation.id, members_of(state), next);
}

std::vector<Rank> P2pExecutor::members_of(const OperationState& state) const {
  if (state.operation.members != nullptr) return *state.operation.members;
  std::vector<Rank> all;
  for (int rank = 0; rank < port_.topology().rank_count(); ++rank) all.emplace_back(rank);
  return all;
}

void P2pExecutor::stage_done(Rank source, const StageMessage& message) {
  if (failed_.contains(message.operation)) return;
  barrier_.stage_done(source, message);
}

void P2pExecutor::stage_open(const StageMessage& message) {
  OperationState* state = find(message.operation);
  if (state == nullptr || state->failed) return;
  progress(*state);
  state->open_stage = std::max(state->open_stage, message.stage);
  for (SourceFlow& flow : state->sources) {
    if (flow.leased() && flow.admitted()) want_lease(flow);
    if (flow.transfer->route == Route::kRegistered) queue_write(flow);
  }
}

}  // namespace hoccl::engine
