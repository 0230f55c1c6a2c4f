#include "sim/fabric/sim_lane.h"

#include "engine/base/check.h"
#include "engine/trace/track_name.h"
#include "sim/fabric/sim_port.h"

namespace hoccl::sim {

using engine::CopyClass;
using engine::CopyRequest;
using engine::PlaceId;
using engine::Seconds;
using engine::Ticket;

SimLane::SimLane(World& world, SimPort& port, engine::Lane lane)
    : world_(world),
      port_(port),
      lane_(lane),
      engine_(world.copy_engine(world.device_of(port.rank()), lane.copy_class)),
      id_(engine_.add_lane(engine::copy_engine_track(port.rank(), lane))),
      open_(take_batch()) {}

std::size_t SimLane::take_batch() {
  if (free_batches_.empty()) {
    batches_.emplace_back();
    return batches_.size() - 1;
  }
  const std::size_t batch = free_batches_.back();
  free_batches_.pop_back();
  return batch;
}

RouteId SimLane::route_of(const CopyRequest& request) {
  const PlaceId source = world_.buffers.locate(request.source, port_.rank());
  const PlaceId target = world_.buffers.locate(request.target, port_.rank());
  if (source == route_source_ && target == route_target_) return route_;
  const auto device_of = [this](PlaceId place) {
    return world_.topology.gpu(world_.topology.gpu_of(place)).physical;
  };
  const int own = world_.device_of(port_.rank());
  const bool source_is_host = world_.topology.is_host(source);
  const bool target_is_host = world_.topology.is_host(target);
  switch (lane_.copy_class) {
    case CopyClass::kPeer:
      HOCCL_CHECK(!source_is_host && !target_is_host, "peer copy between places {} and {}", source,
                  target);
      route_ = world_.links.peer_route(device_of(source), device_of(target));
      break;
    case CopyClass::kDeviceToHost:
      HOCCL_CHECK(!source_is_host && target_is_host && device_of(source) == own,
                  "D2H copy of device {} from place {} to {}", own, source, target);
      route_ = world_.links.to_host_route(own);
      break;
    case CopyClass::kHostToDevice:
      HOCCL_CHECK(source_is_host && !target_is_host && device_of(target) == own,
                  "H2D copy of device {} from place {} to {}", own, source, target);
      route_ = world_.links.from_host_route(own);
      break;
  }
  route_source_ = source;
  route_target_ = target;
  return route_;
}

Ticket SimLane::post(const CopyRequest& request) {
  HOCCL_CHECK(request.source.size == request.target.size && request.source.size.count() > 0,
              "copy of {} bytes to a region of {}", request.source.size.count(),
              request.target.size.count());
  Batch& batch = batches_[open_];
  batch.copies.push_back({.route = route_of(request),
                          .size = request.source.size,
                          .done = {},
                          .tag = engine_.is_traced() ? engine_.tag(request) : 0});
  if (request.leg != engine::Leg::kDeliver) ++batch.source_leg_count;
  return Ticket(++last_ticket_);
}

void SimLane::charge(const Batch& batch, Seconds cost) {
  const auto count = static_cast<double>(batch.copies.size());
  constexpr int kCalls = 1;
  port_.charge(CpuPart::kPostCopy, cost, kCalls);
  world_.submit_times[port_.rank().index()] += cost * (batch.source_leg_count / count);
}

void SimLane::flush() {
  const std::size_t flushed = open_;
  Batch& batch = batches_[flushed];
  ++untold_;
  // A batch completes as one, and completions are cumulative: its last copy reports for all.
  batch.copies.back().done =
      Callback::to<&SimLane::done>(*this, static_cast<std::uint64_t>(last_ticket_));
  const CopyPostConstants& post = world_.calibration.copy_post_of(lane_.copy_class);
  const auto count = static_cast<double>(batch.copies.size());
  charge(batch, batch.copies.size() == 1 ? post.alone : post.batch + count * post.in_batch);
  // The engine need not wait for the call that puts an event behind them.
  world_.clock.at(port_.cpu().free_at(), Callback::to<&SimLane::launch>(*this, flushed));
  charge(batch, world_.calibration.cpu.post_event);
  open_ = take_batch();
}

void SimLane::launch(std::uint64_t batch_index) {
  Batch& batch = batches_[batch_index];
  engine_.submit(id_, batch.copies);
  batch.copies.clear();
  batch.source_leg_count = 0;
  free_batches_.push_back(batch_index);
}

void SimLane::done(std::uint64_t ticket) {
  port_.deliver(world_.clock.now(), engine::CopiesDone{.lane = lane_, .ticket = Ticket(ticket)});
}

}  // namespace hoccl::sim
