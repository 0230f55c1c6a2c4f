// The part of P2pExecutor that feeds the copy engines.

#include <algorithm>
#include <utility>

#include "engine/base/check.h"
#include "engine/pipeline/batch_limit.h"
#include "engine/pipeline/p2p_executor.h"
#include "engine/topology/topology.h"

namespace hoccl::engine {

bool P2pExecutor::can_copy(const SourceFlow& flow) const {
  if (!flow.has_waiting_chunk() || !flow.admitted()) return false;
  if (flow.leased()) return !flow.slots.empty();
  // Transfers between nodes may wait for what is passed on along a chain.
  const bool in_chain = flow.depends() || flow.stepwise;
  return options_.fills_slack() || in_chain || flow.operation->unfinished_ahead == 0;
}

P2pExecutor::EngineWork& P2pExecutor::work(CopyClass copy_class, FlowClass flow_class) {
  return work_[static_cast<std::size_t>(copy_class)][static_cast<std::size_t>(flow_class)];
}

bool P2pExecutor::anything_waits(CopyClass copy_class) const {
  const auto& [foreground, background] = work_[static_cast<std::size_t>(copy_class)];
  return !foreground.empty() || !background.empty();
}

void P2pExecutor::queue_candidate(SourceFlow& flow) {
  if (flow.queued || !can_copy(flow)) return;
  flow.queued = true;
  work(flow.copy_class, flow.transfer->flow_class)
      .candidates.insert(flow, flow.turn(options_.interleave));
}

/// Its next chunk goes on, if it may.
void P2pExecutor::queue_leg(SourceFlow& flow) {
  if (flow.transfer->route == Route::kRegistered) {
    queue_write(flow);
  } else {
    queue_candidate(flow);
  }
}

void P2pExecutor::act() {
  for (const auto& [operation, flow] : std::exchange(wanting_, {})) {
    OperationState* state = find(operation);
    if (state == nullptr || state->failed) continue;
    request_leases(*std::ranges::lower_bound(state->sources, flow, {}, &SourceFlow::id));
  }
  for (const CopyClass copy_class : kCopyClasses) {
    while (anything_waits(copy_class) && copies_.has_room(copy_class) && post_next(copy_class)) {
    }
    watch_background(copy_class);
  }
  copies_.flush();
  writes_.act([this](SourceFlow& flow) { write_posted(flow); });
}

/// Deliveries first, because they free receive slots. Background waits while foreground work of the
/// application is active on this GPU (paper §4, strict priority), until its patience ends.
bool P2pExecutor::post_next(CopyClass copy_class) {
  constexpr FlowClass kBackground = FlowClass::kBackground;
  const std::optional<Seconds> deadline = background_deadline(copy_class);
  if (deadline && *deadline <= port_.now()) {
    // In turns, or deliveries that keep coming would hold back our own chunks for ever.
    bool& chunk_first = chunk_first_[static_cast<std::size_t>(copy_class)];
    const bool chunk_came_first = std::exchange(chunk_first, !chunk_first);
    return (chunk_came_first && post_waiting_chunk(copy_class, kBackground)) ||
           post_waiting_delivery(copy_class, kBackground) ||
           post_waiting_chunk(copy_class, kBackground);
  }
  const bool background_allowed = !foreground_active_;
  return post_next_foreground(copy_class) ||
         (background_allowed && (post_waiting_delivery(copy_class, kBackground) ||
                                 post_waiting_chunk(copy_class, kBackground)));
}

/// Deliveries first, unless they keep our port's inward side busier than its outward side, or a
/// chunk goes on to a further node.
bool P2pExecutor::post_next_foreground(CopyClass copy_class) {
  constexpr FlowClass kForeground = FlowClass::kForeground;
  const GpuId own = port_.topology().gpu_of(port_.rank());
  // It has the longest way before it, and waits for no slot any more.
  if (work(copy_class, kForeground).candidates.leaves_again() &&
      post_waiting_chunk(copy_class, kForeground)) {
    return true;
  }
  if (!work(copy_class, kForeground).candidates.empty() &&
      load_of(own, LinkSide::kOut) < load_of(own, LinkSide::kIn) &&
      post_waiting_chunk(copy_class, kForeground)) {
    return true;
  }
  return post_waiting_delivery(copy_class, kForeground) ||
         post_waiting_chunk(copy_class, kForeground);
}

/// What stays in the node fills the slack of what leaves it: chunks that are ahead of that go only
/// where both ports have room, or when this rank would idle.
bool P2pExecutor::fills_slack(const SourceFlow& flow) const {
  constexpr int kRoom = 3;
  if (flow.transfer->route == Route::kStaged || flow.depends()) return true;
  if (flow.position() <= flow.operation->staged_progress()) return true;
  if (copies_.in_flight(flow.copy_class) == 0) return true;
  return load_of(port_.topology().gpu_of(port_.rank()), LinkSide::kOut) < kRoom &&
         load_of(sink_of(flow), LinkSide::kIn) < kRoom;
}

int P2pExecutor::load_of(GpuId gpu, LinkSide side) const {
  return gpu.is_none() ? 0 : port_.copies_under_way(gpu, side);
}

GpuId P2pExecutor::sink_of(const SourceFlow& flow) const {
  const Topology& topology = port_.topology();
  return flow.leased() ? topology.gpu_of(flow.place) : topology.gpu_of(flow.transfer->target);
}

/// Tells the node of a copy that begins (step 1) or has ended (-1).
void P2pExecutor::count_copy(const CopyJob& job, int step) {
  const Topology& topology = port_.topology();
  const GpuId own = topology.gpu_of(port_.rank());
  const bool pulls = job.target_flow != nullptr;
  const GpuId other =
      pulls ? topology.gpu_of(PlaceId(job.landed.place)) : sink_of(*job.source_flow);
  // Host memory is not on NVLink.
  if (other.is_none()) return;
  for (const auto& [gpu, side] : {std::pair(pulls ? other : own, LinkSide::kOut),
                                  std::pair(pulls ? own : other, LinkSide::kIn)}) {
    int& count = under_way_[{gpu, side}];
    count += step;
    port_.report_copies(gpu, side, count);
  }
}

bool P2pExecutor::post_waiting_delivery(CopyClass copy_class, FlowClass flow_class) {
  auto& deliveries = work(copy_class, flow_class).deliveries;
  if (deliveries.empty()) return false;
  const Topology& topology = port_.topology();
  const PlaceId own = topology.gpu_place(topology.gpu_of(port_.rank()));
  post_delivery(copy_class, deliveries.take(own, [&](PlaceId place) {
    return load_of(topology.gpu_of(place), LinkSide::kOut);
  }));
  background_posted(copy_class, flow_class);
  return true;
}

bool P2pExecutor::post_waiting_chunk(CopyClass copy_class, FlowClass flow_class) {
  auto& candidates = work(copy_class, flow_class).candidates;
  if (candidates.empty()) return false;
  SourceFlow* flow = candidates.take(
      [this](const SourceFlow& waiting) { return load_of(sink_of(waiting), LinkSide::kIn); },
      [this](const SourceFlow& waiting) { return fills_slack(waiting); });
  if (flow == nullptr) return false;
  flow->queued = false;
  post_source_chunk(*flow);
  queue_candidate(*flow);
  background_posted(copy_class, flow_class);
  return true;
}

void P2pExecutor::post_delivery(CopyClass copy_class, const Delivery& delivery) {
  const Descriptor& descriptor = delivery.descriptor;
  OperationState& state = *delivery.flow->operation;
  const StagingPlace& place = port_.staging(PlaceId(descriptor.place));
  const Bytes size(descriptor.size_bytes);
  const Region& buffer = state.operation.receive_buffer;
  const Bytes offset(static_cast<std::int64_t>(descriptor.target_offset));
  HOCCL_CHECK(offset + size <= buffer.size, "chunk at {} of {} bytes leaves the buffer of {}",
              offset.count(), size.count(), buffer.size.count());
  CopyJob job;
  const BufferHandle slots = descriptor.in_send_slots != 0 ? place.send_slots : place.receive_slots;
  job.request.source = {slots, place.slot_size * descriptor.slot, size};
  job.request.target = {buffer.buffer, buffer.offset + offset, size};
  job.request.leg = Leg::kDeliver;
  job.request.tag = {descriptor.operation, FlowId(descriptor.flow), descriptor.chunk,
                     delivery.flow->transfer->source};
  job.target_flow = delivery.flow;
  job.landed = descriptor;
  const TargetFlow& flow = *delivery.flow;
  copies_.post(copy_class, job,
               batch_limit(flow.delivered, flow.chunks - 1 - std::int64_t{descriptor.chunk},
                           std::ssize(state.targets)));
  count_copy(job, 1);
  state.legs_in_flight += 1;
}

void P2pExecutor::post_source_chunk(SourceFlow& flow) {
  OperationState& state = *flow.operation;
  const SourceFlow::TakenChunk chunk = flow.take_chunk();
  CopyJob job;
  job.source_flow = &flow;
  job.request.source = chunk.region;
  job.request.tag = {state.operation.id, flow.id, static_cast<std::uint32_t>(chunk.number),
                     port_.rank()};
  if (flow.leased()) {
    const StagingPlace& place = port_.staging(flow.place);
    job.slot = flow.slots.front();
    flow.slots.pop_front();
    job.request.target = {place.send_slots, place.slot_size * job.slot.slot, chunk.region.size};
    job.request.leg = Leg::kStageIn;
  } else {
    job.request.target = flow.target_of(chunk);
    job.request.leg = Leg::kDirect;
  }
  copies_.post(flow.copy_class, job,
               batch_limit(flow.copied, flow.chunks - flow.posted, std::ssize(state.sources)));
  count_copy(job, 1);
  state.legs_in_flight += 1;
}

void P2pExecutor::copied(const CopiesDone& done) {
  just_ended_.clear();
  copies_.complete(done, just_ended_);
  for (const CopyQueue::Ended& ended : just_ended_) {
    OperationState& state = ended.job.source_flow != nullptr ? *ended.job.source_flow->operation
                                                             : *ended.job.target_flow->operation;
    state.legs_in_flight -= 1;
    count_copy(ended.job, -1);
    port_.account(CpuWork::kBookkeeping, 1);
    if (ended.outcome == Outcome::kError) {
      copy_failed(ended.job, ended.lane);
    } else if (ended.job.source_flow != nullptr) {
      source_copied(ended.job);
    } else {
      target_copied(ended.job);
    }
  }
}

void P2pExecutor::source_copied(const CopyJob& job) {
  SourceFlow& flow = *job.source_flow;
  OperationState& state = *flow.operation;
  flow.copied += 1;
  if (state.failed) {
    if (flow.leased()) return_slot(job.slot);
    end_if_over(state);
    return;
  }
  progress(state);
  if (!flow.leased()) {
    const bool all = flow.copied == flow.chunks;
    if (!all && !flow.stepwise) return;
    FlowMessage message;
    message.kind = MessageKind::kDelivered;
    message.operation = state.operation.id;
    message.flow = flow.id;
    if (flow.stepwise) message.chunk = static_cast<std::int32_t>(job.request.tag.chunk);
    port_.post_message(flow.transfer->target, pack(message));
    if (!all) return;
    flow.done = true;
    flow_done(state, *flow.transfer);
    return;
  }
  const Topology& topology = port_.topology();
  const Bytes within = state.operation.plan->chunk_size * job.request.tag.chunk;
  if (flow.transfer->route == Route::kStaged) state.staged_out_copied += 1;
  Descriptor descriptor;
  descriptor.kind = static_cast<std::uint8_t>(MessageKind::kStaged);
  descriptor.traffic_class = static_cast<std::uint8_t>(flow.transfer->flow_class);
  descriptor.stage = static_cast<std::uint16_t>(flow.transfer->stage);
  descriptor.slot = job.slot.slot;
  descriptor.place = job.slot.place;
  descriptor.generation = job.slot.generation;
  descriptor.operation = state.operation.id;
  descriptor.flow = static_cast<std::uint32_t>(flow.id.value());
  descriptor.chunk = job.request.tag.chunk;
  descriptor.size_bytes = static_cast<std::uint32_t>(job.request.source.size.count());
  descriptor.target_offset =
      static_cast<std::uint64_t>((flow.transfer->target_offset + within).count());
  descriptor.local_targets = flow.local_targets;
  port_.post_message(topology.host_of(flow.place), pack(descriptor));
}

void P2pExecutor::target_copied(const CopyJob& job) {
  pulled(job.landed);
  TargetFlow& flow = *job.target_flow;
  OperationState& state = *flow.operation;
  if (state.failed) {
    end_if_over(state);
    return;
  }
  flow.delivered += 1;
  if (flow.transfer->route == Route::kStaged) state.staged_in_copied += 1;
  progress(state);
  chunk_delivered(flow, job.landed.chunk);
  if (flow.delivered < flow.chunks) return;
  flow.done = true;
  flow_done(state, *flow.transfer);
}

void P2pExecutor::copy_failed(const CopyJob& job, Lane lane) {
  const bool is_source = job.source_flow != nullptr;
  OperationState& state = is_source ? *job.source_flow->operation : *job.target_flow->operation;
  if (job.request.leg == Leg::kStageIn) return_slot(job.slot);
  if (job.request.leg == Leg::kDeliver) pulled(job.landed);
  Status status =
      status_of(state.operation.id, Cause::kCopyError,
                is_source ? job.source_flow->transfer->target : job.target_flow->transfer->source);
  status.flow = job.request.tag.flow;
  status.chunk = job.request.tag.chunk;
  LinkName link;
  link.kind = LinkName::Kind::kCopyLane;
  link.copy_class = static_cast<std::uint8_t>(lane.copy_class);
  link.first = lane.index;
  fail(state, status, link, port_.rank());
}

void P2pExecutor::return_slot(const SlotReference& slot) {
  SlotMessage message;
  message.kind = MessageKind::kSlotReturn;
  message.slot = slot;
  port_.post_message(port_.topology().host_of(PlaceId(slot.place)), pack(message));
}

/// The chunk's slot is not needed here any more.
void P2pExecutor::pulled(const Descriptor& landed) {
  SlotMessage message;
  message.kind = MessageKind::kPulled;
  message.in_send_slots = landed.in_send_slots;
  message.slot = {landed.slot, landed.place, landed.generation};
  port_.post_message(port_.topology().host_of(PlaceId(landed.place)), pack(message));
}

}  // namespace hoccl::engine
