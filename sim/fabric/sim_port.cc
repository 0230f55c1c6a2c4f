#include "sim/fabric/sim_port.h"

#include <algorithm>
#include <utility>

#include "engine/base/check.h"

namespace hoccl::sim {

using engine::BufferHandle;
using engine::Completion;
using engine::NicId;
using engine::QueuePairId;
using engine::Rank;
using engine::Seconds;
using engine::Ticket;

SimPort::SimPort(World& world, Rank rank)
    : world_(world), rank_(rank), cpu_(world.clock), application_(world.clock) {}

Seconds SimPort::now() const { return stepping_ ? cpu_.free_at() : application_.free_at(); }

Seconds SimPort::wait_for_driver(const CpuClock& core, int calls) {
  if (calls == 0 || world_.driver_lock == nullptr) return Seconds(0.0);
  const Seconds now = core.free_at();
  return world_.driver_lock->take(now, world_.calibration.cpu.driver_lock * calls) - now;
}

// --- proxy side ---

SimLane& SimPort::lane(engine::Lane lane) {
  auto& lanes = lanes_[static_cast<std::size_t>(lane.copy_class)];
  if (lane.index >= lanes.size()) lanes.resize(lane.index + std::size_t{1});
  std::unique_ptr<SimLane>& found = lanes[lane.index];
  if (found == nullptr) found = std::make_unique<SimLane>(world_, *this, lane);
  return *found;
}

Ticket SimPort::post_copy(engine::Lane lane_name, const engine::CopyRequest& request) {
  SimLane& target = lane(lane_name);
  if (!target.has_open_batch()) open_lanes_.push_back(&target);
  return target.post(request);
}

void SimPort::flush() {
  for (SimLane* each : open_lanes_) each->flush();
  open_lanes_.clear();
}

Ticket SimPort::post_write(QueuePairId queue_pair, const engine::WriteRequest& request) {
  return queue_pairs_.at(queue_pair.index())->post(request);
}

void SimPort::post_message(Rank target, const engine::Message& message) {
  const Calibration& constants = world_.calibration;
  const bool local = world_.is_local(rank_, target);
  charge(CpuPart::kPostMessage,
         local ? constants.cpu.post_local_message : constants.cpu.post_remote_message);
  Seconds latency{0.0};  // to itself: the ring is in its own cache
  if (target != rank_) {
    latency = local ? constants.message.local_latency : constants.message.remote_latency;
  }
  world_.ports.at(target.index())
      ->deliver(cpu_.free_at() + latency,
                engine::MessageArrived{.source = rank_, .message = message});
}

QueuePairId SimPort::queue_pair(NicId local, NicId remote, Rank peer, int index) {
  const auto [entry, is_new] = queue_pair_ids_.try_emplace({local, remote, peer, index});
  if (!is_new) return entry->second;
  HOCCL_CHECK(world_.topology.can_use(rank_, local), "rank {} cannot use NIC {}", rank_, local);
  HOCCL_CHECK(world_.topology.can_use(peer, remote), "rank {} cannot use NIC {}", peer, remote);
  HOCCL_CHECK(local != remote, "queue pair from NIC {} to itself", local);
  entry->second = QueuePairId(queue_pairs_.size());
  queue_pairs_.push_back(
      std::make_unique<SimQueuePair>(world_, *this, entry->second, local, remote, peer));
  for (const NicId failed : failed_nics_) {
    if (failed == local || failed == remote) queue_pairs_.back()->fail();
  }
  return entry->second;
}

const engine::StagingPlace& SimPort::staging(engine::PlaceId place) const {
  return world_.staging.at(place.index());
}

void SimPort::export_buffer(BufferHandle buffer) {
  HOCCL_CHECK(buffer.owner == rank_, "rank {} exports a buffer of rank {}", rank_, buffer.owner);
  charge(CpuPart::kRegistration, world_.calibration.cpu.export_buffer);
  world_.buffers.mark_exported(buffer);
  deliver(cpu_.free_at(), engine::BufferExported{.buffer = buffer});
}

void SimPort::register_buffer(BufferHandle buffer) {
  HOCCL_CHECK(buffer.owner == rank_, "rank {} registers a buffer of rank {}", rank_, buffer.owner);
  // Another thread does it, or the proxy would stand still for milliseconds.
  charge(CpuPart::kRegistration, world_.calibration.cpu.post_local_message);
  world_.buffers.mark_registered(buffer);
  deliver(cpu_.free_at() + world_.calibration.registration.latency,
          engine::BufferRegistered{.buffer = buffer});
}

void SimPort::import_buffer(BufferHandle buffer) {
  charge(CpuPart::kRegistration, world_.calibration.cpu.import_buffer);
  world_.buffers.mark_imported(buffer, rank_);
  deliver(cpu_.free_at(), engine::BufferImported{.buffer = buffer});
}

void SimPort::open_gate(engine::Gate gate_name, engine::Sequence sequence) {
  charge(CpuPart::kNotify, world_.calibration.cpu.open_gate);
  world_.clock.at(cpu_.free_at(), Callback::to<&SimGate::store>(gate(gate_name), sequence));
}

void SimPort::finish(engine::WorkId work, const engine::Status& status) {
  charge(CpuPart::kNotify, world_.calibration.cpu.finish);
  finished_at_ = cpu_.free_at();
  const bool is_first =
      finished_.try_emplace(work, Finished{.status = status, .time = *finished_at_}).second;
  HOCCL_CHECK(is_first, "rank {}: work {} finished twice", rank_, work);
}

Seconds SimPort::poll_cost(const Completion& completion) const {
  const CpuConstants& cpu = world_.calibration.cpu;
  if (std::holds_alternative<engine::WritesDone>(completion) ||
      std::holds_alternative<engine::Arrived>(completion)) {
    // On a map wire the other side is told through shared memory.
    return world_.topology.wire() == engine::WireKind::kMap ? cpu.poll_message : cpu.poll_write;
  }
  // Export, registration and import were paid for when they were called.
  if (std::holds_alternative<engine::BufferExported>(completion) ||
      std::holds_alternative<engine::BufferRegistered>(completion) ||
      std::holds_alternative<engine::BufferImported>(completion)) {
    return Seconds(0.0);
  }
  return cpu.poll_message;
}

std::size_t SimPort::poll(std::span<Completion> out) {
  // What a single instant holds is delivered in several turns that rounding may set apart.
  const Seconds visible_at = world_.clock.now() * (1.0 + kSameInstant);
  const std::size_t count = inbox_.take(visible_at, out);
  Seconds cost{0.0};
  int events = 0;
  for (const Completion& completion : out.first(count)) {
    if (const auto* done = std::get_if<engine::CopiesDone>(&completion)) {
      lane(done->lane).told();
      cost += world_.calibration.cpu.poll_copies;
      ++events;
    } else {
      cost += poll_cost(completion);
    }
  }
  const int asked = asked_lanes();
  charge(CpuPart::kPoll, cost + look(asked), events + asked);
  return count;
}

int SimPort::asked_lanes() const {
  int count = 0;
  for (const auto& lanes : lanes_) {
    for (const auto& lane : lanes) count += lane != nullptr && lane->is_busy() ? 1 : 0;
  }
  return count;
}

/// At everything; the driver is asked about every lane with copies under way.
Seconds SimPort::look(int asked) const {
  Seconds cost = world_.calibration.cpu.poll_empty;
  for (int i = 0; i < asked; ++i) cost += world_.calibration.cpu.query_copies;
  return cost;
}

/// A proxy that waits for copies looks at one thing after the other, all the time. What happens
/// meanwhile is found by the next look: half a look later, on average.
Seconds SimPort::half_a_look() const {
  const int asked = asked_lanes();
  return asked > 0 ? look(asked) / 2.0 : Seconds(0.0);  // else it looks at its doorbell only
}

void SimPort::account(engine::CpuWork work, std::int64_t count) {
  const CpuConstants& cpu = world_.calibration.cpu;
  const auto times = static_cast<double>(count);
  switch (work) {
    case engine::CpuWork::kPlanFlow:
      charge(CpuPart::kPlan, times * cpu.plan_flow);
      return;
    case engine::CpuWork::kPlanCount:
      charge(CpuPart::kPlan, times * cpu.plan_count);
      return;
    case engine::CpuWork::kBookkeeping:
      charge(CpuPart::kBookkeeping, times * cpu.bookkeeping);
      return;
  }
}

void SimPort::report_copies(engine::GpuId gpu, engine::LinkSide side, int under_way) {
  int& told = reported_copies_[{gpu, side}];
  world_.copies_under_way[gpu.index()][static_cast<std::size_t>(side)] += under_way - told;
  told = under_way;
}

int SimPort::copies_under_way(engine::GpuId gpu, engine::LinkSide side) const {
  return world_.copies_under_way[gpu.index()][static_cast<std::size_t>(side)];
}

void SimPort::fail_nic(NicId nic) {
  failed_nics_.push_back(nic);
  for (const auto& each : queue_pairs_) {
    if (each->local() == nic || each->remote() == nic) each->fail();
  }
}

// --- when the proxy runs ---

void SimPort::attach(engine::Proxy* proxy) {
  if (stopped_) return;
  proxy_ = proxy;
  arm_wake();
}

void SimPort::stop() {
  stopped_ = true;
  proxy_ = nullptr;
  if (wake_armed_) world_.clock.cancel(wake_event_);
  wake_armed_ = false;
  set_deadline(std::nullopt);
}

void SimPort::deliver(Seconds time, Completion&& completion) {
  if (stopped_) return;
  inbox_.push(time, std::move(completion));
  if (stepping_) return;  // armed when the step ends
  if (proxy_ != nullptr) {
    arm_wake();
  } else {
    world_.clock.at(time, Callback());  // nobody is woken, but time must get there
  }
}

void SimPort::arm_wake() {
  if (proxy_ == nullptr || inbox_.empty()) return;
  const Seconds next = inbox_.next_time();
  const Seconds time = cpu_.free_at() < next ? next + half_a_look() : cpu_.free_at();
  if (wake_armed_) {
    if (wake_time_ <= time) return;
    world_.clock.cancel(wake_event_);
  }
  wake_armed_ = true;
  wake_time_ = time;
  wake_event_ = world_.clock.at(time, Callback::to<&SimPort::wake>(*this));
}

void SimPort::wake() {
  wake_armed_ = false;
  if (cpu_.is_busy()) {
    arm_wake();
  } else {
    step();
  }
}

void SimPort::set_deadline(std::optional<Seconds> deadline) {
  deadline_ = deadline;
  if (deadline_armed_) {
    // Deadlines mostly move back; the event then finds nothing due and arms itself again.
    if (deadline_ && deadline_armed_for_ <= *deadline_) return;
    world_.clock.cancel(deadline_event_);
    deadline_armed_ = false;
  }
  if (!deadline_) return;
  deadline_armed_ = true;
  deadline_armed_for_ = std::max(*deadline_, cpu_.free_at());
  deadline_event_ =
      world_.clock.at(deadline_armed_for_, Callback::to<&SimPort::deadline_reached>(*this));
}

void SimPort::deadline_reached() {
  deadline_armed_ = false;
  const Seconds due = std::max(*deadline_, cpu_.free_at());
  if (due > world_.clock.now() * (1.0 + kSameInstant)) {
    set_deadline(due);
  } else {
    step();
  }
}

void SimPort::step() {
  const Seconds begin = world_.clock.now();
  stepping_ = true;
  proxy_->step();
  const std::optional<Seconds> deadline = proxy_->next_deadline();
  stepping_ = false;
  set_deadline(deadline);
  arm_wake();
  if (world_.trace == nullptr) return;
  world_.trace->record({.begin = begin,
                        .end = cpu_.free_at(),
                        .track = {.rank = rank_, .kind = engine::TrackKind::kProxy, .index = 0},
                        .name = "step",
                        .flow = {},
                        .chunk = -1,
                        .size = {},
                        .operation = {}});
}

}  // namespace hoccl::sim
