#include "sim/fabric/sim_queue_pair.h"

#include "engine/base/check.h"
#include "sim/fabric/sim_port.h"

namespace hoccl::sim {

using engine::NicId;
using engine::Outcome;
using engine::Seconds;
using engine::Ticket;

namespace {

QueuePairParameters parameters_of(const QueuePairConstants& constants) {
  return {.message_overhead = constants.message_overhead,
          .one_way_latency = constants.wire_latency,
          .completion_latency = constants.completion_latency,
          .error_latency = constants.error_latency};
}

}  // namespace

SimQueuePair::SimQueuePair(World& world, SimPort& port, engine::QueuePairId id, NicId local,
                           NicId remote)
    : world_(world), port_(port), id_(id), local_(local), remote_(remote) {
  if (world.topology.wire() == engine::WireKind::kMap) return;
  route_ = world.links.wire_route(local, remote);
  machine_ = std::make_unique<QueuePair>(world.clock, *world.network,
                                         parameters_of(world.calibration.queue_pair));
  if (world.trace != nullptr) machine_->set_observer(this);
}

std::uint64_t SimQueuePair::take_record() {
  if (free_records_.empty()) {
    records_.emplace_back();
    return records_.size() - 1;
  }
  const std::uint64_t record = free_records_.back();
  free_records_.pop_back();
  return record;
}

Ticket SimQueuePair::post(const engine::WriteRequest& request) {
  HOCCL_CHECK(request.local.size == request.remote.size && request.local.size.count() > 0,
              "write of {} bytes to a region of {}", request.local.size.count(),
              request.remote.size.count());
  HOCCL_CHECK(world_.buffers.locate_pool(request.local) == world_.topology.place_of(local_),
              "NIC {} does not send from buffer {} of rank {}", local_, request.local.buffer.id,
              request.local.buffer.owner);
  const engine::PlaceId place = world_.buffers.locate_pool(request.remote);
  HOCCL_CHECK(place == world_.topology.place_of(remote_),
              "NIC {} does not receive into buffer {} of rank {}", remote_,
              request.remote.buffer.id, request.remote.buffer.owner);

  const CpuConstants& cpu = world_.calibration.cpu;
  const Seconds cost = machine_ != nullptr ? cpu.post_write : cpu.post_local_message;
  port_.charge(CpuPart::kPostWrite, cost);
  world_.submit_times[request.tag.source.is_none() ? port_.rank().index()
                                                   : request.tag.source.index()] += cost;

  const std::uint64_t index = take_record();
  Record& record = records_[index];
  record.descriptor = request.descriptor;
  record.tag = request.tag;
  record.ticket = ++last_ticket_;
  record.size = request.local.size;
  record.target = world_.ports[world_.topology.host_of(place).index()];
  record.immediate = request.immediate;
  if (machine_ != nullptr) {
    world_.clock.at(port_.cpu().free_at(), Callback::to<&SimQueuePair::launch>(*this, index));
  } else {
    hand_over(record);
    free_records_.push_back(index);
  }
  return Ticket(last_ticket_);
}

void SimQueuePair::hand_over(const Record& record) {
  const Seconds posted = port_.cpu().free_at();
  if (map_failed_) {
    report(record.ticket, Outcome::kError, posted + world_.calibration.queue_pair.error_latency);
    return;
  }
  const Seconds time = posted + world_.calibration.message.local_latency;
  record.target->deliver(time, engine::Arrived{.local_nic = remote_,
                                               .remote_nic = local_,
                                               .immediate = record.immediate,
                                               .descriptor = record.descriptor});
  report(record.ticket, Outcome::kOk, time);
  if (world_.trace == nullptr) return;
  world_.trace->record({.begin = posted,
                        .end = time,
                        .track = {.rank = port_.rank(),
                                  .kind = engine::TrackKind::kNicSend,
                                  .index = local_.value()},
                        .name = "wire",
                        .flow = record.tag.flow,
                        .chunk = record.tag.chunk,
                        .size = record.size,
                        .operation = record.tag.operation});
}

void SimQueuePair::launch(std::uint64_t record) {
  machine_->post({.route = route_,
                  .size = records_[record].size,
                  .arrived = Callback::to<&SimQueuePair::arrived>(*this, record),
                  .completed = Callback::to<&SimQueuePair::completed>(*this, record),
                  .failed = Callback::to<&SimQueuePair::failed>(*this, record),
                  .tag = record});
}

void SimQueuePair::arrived(std::uint64_t index) {
  const Record& record = records_[index];
  record.target->deliver(world_.clock.now(), engine::Arrived{.local_nic = remote_,
                                                             .remote_nic = local_,
                                                             .immediate = record.immediate,
                                                             .descriptor = record.descriptor});
}

void SimQueuePair::completed(std::uint64_t record) {
  report(records_[record].ticket, Outcome::kOk, world_.clock.now());
  free_records_.push_back(record);
}

void SimQueuePair::failed(std::uint64_t record) {
  report(records_[record].ticket, Outcome::kError, world_.clock.now());
  free_records_.push_back(record);
}

void SimQueuePair::report(std::int64_t ticket, Outcome outcome, Seconds time) {
  port_.deliver(
      time, engine::WritesDone{.queue_pair = id_, .ticket = Ticket(ticket), .outcome = outcome});
}

void SimQueuePair::fail() {
  if (machine_ == nullptr) {
    map_failed_ = true;
  } else if (!machine_->in_error()) {
    machine_->fail();
  }
}

void SimQueuePair::written(const WriteInterval& interval) {
  const Record& record = records_[interval.tag];
  engine::TraceEvent event{
      .begin = interval.begin,
      .end = interval.end,
      .track = {.rank = port_.rank(), .kind = engine::TrackKind::kNicSend, .index = local_.value()},
      .name = interval.failed ? "wire_error" : "wire",
      .flow = record.tag.flow,
      .chunk = record.tag.chunk,
      .size = record.size,
      .operation = record.tag.operation};
  world_.trace->record(event);
  if (interval.failed) return;
  const QueuePairConstants& constants = world_.calibration.queue_pair;
  event.begin = interval.begin + constants.message_overhead + constants.wire_latency;
  event.end = interval.end + constants.wire_latency;
  event.track = {.rank = record.target->rank(),
                 .kind = engine::TrackKind::kNicReceive,
                 .index = remote_.value()};
  world_.trace->record(event);
}

}  // namespace hoccl::sim
