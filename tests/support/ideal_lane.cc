#include "tests/support/ideal_lane.h"

#include <utility>

#include "engine/base/check.h"
#include "tests/support/ideal_port.h"

namespace hoccl::engine {

void IdealLane::check(const CopyRequest& request, const Accessor& accessor) const {
  const Topology& topology = world_.topology;
  const IdealMemory& memory = world_.memory;
  const GpuId gpu = topology.gpu_of(rank_);
  const auto may_touch = [&](BufferHandle buffer) {
    if (memory.kind_of(buffer) != BufferKind::kUser) {
      return topology.node_of(memory.place_of(buffer)) == topology.node_of(rank_);
    }
    return buffer.owner == rank_ || memory.is_importer(buffer, rank_);
  };
  HOCCL_CHECK(may_touch(request.source.buffer), "{} reads buffer {} of rank {}, not mapped here",
              to_string(accessor), request.source.buffer.id, request.source.buffer.owner);
  HOCCL_CHECK(may_touch(request.target.buffer), "{} writes buffer {} of rank {}, not mapped here",
              to_string(accessor), request.target.buffer.id, request.target.buffer.owner);

  const PlaceId source = memory.place_of(request.source.buffer);
  const PlaceId target = memory.place_of(request.target.buffer);
  const bool from_host = topology.is_host(source);
  const bool to_host = topology.is_host(target);
  HOCCL_CHECK(!(from_host && to_host), "{} stays in host memory", to_string(accessor));
  HOCCL_CHECK(from_host || to_host ||
                  topology.gpu(topology.gpu_of(source)).physical !=
                      topology.gpu(topology.gpu_of(target)).physical,
              "{} stays within one GPU", to_string(accessor));
  HOCCL_CHECK(topology.gpu_of(source) == gpu || topology.gpu_of(target) == gpu,
              "{} is executed by a GPU that is neither its source nor its target",
              to_string(accessor));
  const CopyClass needed = from_host ? CopyClass::kHostToDevice
                           : to_host ? CopyClass::kDeviceToHost
                                     : CopyClass::kPeer;
  HOCCL_CHECK(lane_.copy_class == needed, "{} is on a lane of class {}, but needs {}",
              to_string(accessor), static_cast<int>(lane_.copy_class), static_cast<int>(needed));
}

Ticket IdealLane::post(const CopyRequest& request) {
  const Ticket ticket(++last_ticket_);
  const Accessor accessor{rank_, "copy", ticket, request.tag};
  check(request, accessor);
  auto copy =
      std::make_shared<DmaTransfer>(world_.memory, request.source, request.target, accessor);
  const IdealFaults& faults = world_.options.faults;
  if (world_.random.chance(faults.copy_error) ||
      (faults.copy_fails && faults.copy_fails(rank_, request))) {
    copy->set_failing();
  }
  open_.push_back(copy);
  unpolled_.push_back(std::move(copy));
  return ticket;
}

void IdealLane::flush() {
  if (open_.empty()) return;
  waiting_.push_back(std::exchange(open_, {}));
  if (!busy_) start_next();
}

void IdealLane::start_next() {
  busy_ = !waiting_.empty();
  if (!busy_) return;
  const Copies batch = std::move(waiting_.front());
  waiting_.pop_front();
  Bytes size(0);
  for (const auto& copy : batch) size += copy->size();
  const IdealTiming& timing = world_.options.closed_form;
  const Seconds end = world_.after(timing.copy_launch + size / timing.copy_rate);
  start(batch, end);
  world_.events.at(end, [this, batch] {
    this->end(batch);
    start_next();
  });
}

void IdealLane::start(const Copies& batch, Seconds end) {
  const Seconds now = world_.events.now();
  for (const auto& copy : batch) {
    copy->start();
    if (!world_.adversarial()) continue;  // bytes move at the end of the batch
    const Seconds read = now + (end - now) * world_.random.uniform();
    const Seconds write = read + (end - read) * world_.random.uniform();
    world_.events.at(read, [copy] { copy->sample(); });
    world_.events.at(std::max(read, write), [copy] { copy->store(1); });
  }
}

void IdealLane::end(const Copies& batch) {
  if (!world_.adversarial()) {
    for (const auto& copy : batch) {
      copy->sample();
      copy->store(1);
    }
  }
  for (const auto& copy : batch) {
    if (!copy->failing()) continue;
    world_.failed_operations.insert(copy->operation());
    report(copy->ticket(), Outcome::kError);
  }
  if (!batch.back()->failing()) report(batch.back()->ticket(), Outcome::kOk);
}

void IdealLane::report(Ticket ticket, Outcome outcome) {
  world_.events.at_in_order(visible_, world_.after(Seconds(0.0)), [this, ticket, outcome] {
    world_.ports[rank_.index()]->push(CopiesDone{lane_, ticket, outcome});
  });
}

void IdealLane::polled(Ticket ticket) {
  std::erase_if(unpolled_, [&](const auto& copy) {
    if (copy->ticket() > ticket) return false;
    copy->release();
    return true;
  });
}

void IdealLane::die(bool finishes) {
  for (const auto& copy : open_) copy->cancel();
  for (const Copies& batch : waiting_) {
    for (const auto& copy : batch) copy->cancel();
  }
  open_.clear();
  waiting_.clear();
  if (finishes) return;
  for (const auto& copy : unpolled_) copy->cancel();
}

void IdealLane::revoke() {
  for (const auto& copy : unpolled_) {
    copy->cancel();
    copy->release();
  }
  unpolled_.clear();
}

}  // namespace hoccl::engine
