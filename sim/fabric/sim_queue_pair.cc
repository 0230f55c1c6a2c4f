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
                           NicId remote, engine::Rank peer)
    : world_(world),
      port_(port),
      id_(id),
      local_(local),
      remote_(remote),
      peer_(*world.ports.at(peer.index())) {
  if (world.topology.wire() == engine::WireKind::kMap) return;
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

/// Checks that the NICs may touch what they are told to.
RouteId SimQueuePair::route_of(const engine::WriteRequest& request) {
  const engine::Topology& topology = world_.topology;
  const engine::PlaceId from = world_.buffers.locate_for_nic(request.local, port_.rank());
  const engine::PlaceId into = world_.buffers.locate_for_nic(request.remote, port_.rank());
  const bool slots = world_.buffers.is_pool(request.local.buffer);
  const auto place_of = [&](NicId nic) {
    return slots ? topology.place_of(nic) : topology.gpu_place(topology.nic(nic).gpu);
  };
  HOCCL_CHECK(from == place_of(local_), "NIC {} does not send from buffer {} of rank {}", local_,
              request.local.buffer.id, request.local.buffer.owner);
  HOCCL_CHECK(into == place_of(remote_) && slots == world_.buffers.is_pool(request.remote.buffer),
              "NIC {} does not receive into buffer {} of rank {}", remote_,
              request.remote.buffer.id, request.remote.buffer.owner);
  if (machine_ == nullptr) {
    HOCCL_CHECK(slots, "nothing moves on a map wire, so NIC {} cannot write a user buffer", local_);
    return {};
  }
  std::optional<RouteId>& route = slots ? slot_route_ : buffer_route_;
  if (!route) {
    route = slots ? world_.links.wire_route(local_, remote_)
                  : world_.links.buffer_wire_route(local_, remote_);
  }
  return *route;
}

Ticket SimQueuePair::post(const engine::WriteRequest& request) {
  HOCCL_CHECK(request.local.size == request.remote.size && request.local.size.count() > 0,
              "write of {} bytes to a region of {}", request.local.size.count(),
              request.remote.size.count());
  const RouteId route = route_of(request);

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
  record.route = route;
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
  peer_.deliver(time, engine::Arrived{.local_nic = remote_,
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
  machine_->post({.route = records_[record].route,
                  .size = records_[record].size,
                  .arrived = Callback::to<&SimQueuePair::arrived>(*this, record),
                  .completed = Callback::to<&SimQueuePair::completed>(*this, record),
                  .failed = Callback::to<&SimQueuePair::failed>(*this, record),
                  .tag = record});
}

void SimQueuePair::arrived(std::uint64_t index) {
  const Record& record = records_[index];
  peer_.deliver(world_.clock.now(), engine::Arrived{.local_nic = remote_,
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
  event.track = {
      .rank = peer_.rank(), .kind = engine::TrackKind::kNicReceive, .index = remote_.value()};
  world_.trace->record(event);
}

}  // namespace hoccl::sim
