#include "tests/support/ideal_queue_pair.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "engine/base/check.h"
#include "tests/support/ideal_port.h"

namespace hoccl::engine {
namespace {

/// How often the bytes of a chunk will be read from the receive slot.
int reads_of(const Descriptor& descriptor) {
  int reads = 0;
  for (const std::uint32_t word : descriptor.local_targets) reads += std::popcount(word);
  return std::max(reads, 1);
}

}  // namespace

void IdealQueuePair::check_slots(const WriteRequest& request, const Accessor& accessor) const {
  const IdealMemory& memory = world_.memory;
  const Topology& topology = world_.topology;
  HOCCL_CHECK(topology.host_of(topology.place_of(local_)) == rank_,
              "{}: rank {} does not host the place of NIC {}", to_string(accessor), rank_, local_);
  HOCCL_CHECK(topology.host_of(topology.place_of(remote_)) == peer_,
              "{}: rank {} does not host the place of NIC {}", to_string(accessor), peer_, remote_);
  HOCCL_CHECK(memory.kind_of(request.local.buffer) == BufferKind::kSendSlots &&
                  memory.place_of(request.local.buffer) == world_.topology.place_of(local_),
              "{}: its source is not in the send slots of NIC {}", to_string(accessor), local_);
  HOCCL_CHECK(memory.kind_of(request.remote.buffer) == BufferKind::kReceiveSlots &&
                  memory.place_of(request.remote.buffer) == world_.topology.place_of(remote_),
              "{}: its target is not in the receive slots of NIC {}", to_string(accessor), remote_);
}

void IdealQueuePair::check_user_buffers(const WriteRequest& request,
                                        const Accessor& accessor) const {
  const IdealMemory& memory = world_.memory;
  const BufferHandle& local = request.local.buffer;
  const BufferHandle& remote = request.remote.buffer;
  HOCCL_CHECK(local.owner == rank_ && memory.is_registered(local),
              "{}: its source is not in a registered buffer of rank {}", to_string(accessor),
              rank_);
  HOCCL_CHECK(memory.kind_of(remote) == BufferKind::kUser && remote.owner == peer_ &&
                  memory.is_registered(remote) && memory.is_importer(remote, rank_),
              "{}: its target is not in a buffer that rank {} has registered and rank {} imported",
              to_string(accessor), peer_, rank_);
  HOCCL_CHECK(world_.topology.nic(local_).gpu == world_.topology.gpu_of(rank_) &&
                  world_.topology.nic(remote_).gpu == world_.topology.gpu_of(peer_),
              "{}: NICs {} and {} are not next to the GPUs of ranks {} and {}", to_string(accessor),
              local_, remote_, rank_, peer_);
}

Ticket IdealQueuePair::post(const WriteRequest& request) {
  const Ticket ticket(++last_ticket_);
  const Accessor accessor{rank_, "write", ticket, request.tag};
  if (world_.memory.kind_of(request.local.buffer) == BufferKind::kUser) {
    check_user_buffers(request, accessor);
  } else {
    check_slots(request, accessor);
  }
  HOCCL_CHECK(std::ssize(unpolled_) < world_.options.queue_depth,
              "{}: {} writes are in flight on queue pair {}", to_string(accessor), unpolled_.size(),
              id_);
  Write write{request, std::make_shared<DmaTransfer>(world_.memory, request.local, request.remote,
                                                     accessor)};
  const IdealFaults& faults = world_.options.faults;
  if (world_.random.chance(faults.write_error) ||
      (faults.write_fails && faults.write_fails(rank_, request))) {
    write.dma->set_failing();
  }
  unpolled_.push_back(write.dma);
  waiting_.push_back(std::move(write));
  if (!busy_) start_next();
  return ticket;
}

bool IdealQueuePair::target_is_dead() const { return world_.ports[peer_.index()]->dead(); }

void IdealQueuePair::start_next() {
  busy_ = !waiting_.empty();
  if (!busy_) return;
  const Write write = std::move(waiting_.front());
  waiting_.pop_front();
  if (target_is_dead()) write.dma->set_failing();
  if (!write.dma->failing()) write.dma->start();

  const IdealTiming& timing = world_.options.closed_form;
  const Seconds now = world_.events.now();
  const Seconds sent = world_.after(write.dma->size() / timing.write_rate);
  if (world_.adversarial()) {
    const Seconds read = now + (sent - now) * world_.random.uniform();
    world_.events.at(read, [dma = write.dma] { dma->sample(); });
  }
  world_.events.at(sent, [this, write] {
    if (!world_.adversarial()) write.dma->sample();
    world_.events.at_in_order(landing_, world_.after(world_.options.closed_form.write_latency),
                              [this, write] { land(write); });
    start_next();
  });
}

void IdealQueuePair::land(const Write& write) {
  if (write.dma->cancelled()) return;
  if (target_is_dead()) write.dma->set_failing();
  if (write.dma->failing()) {
    fail(write);
    return;
  }
  write.dma->store(reads_of(write.request.descriptor));
  write.dma->release_target();
  const Arrived arrived{remote_, local_, write.request.immediate, write.request.descriptor};
  world_.events.at_in_order(arrivals_, world_.after(Seconds(0.0)),
                            [this, arrived] { world_.ports[peer_.index()]->push(arrived); });
  report(write.dma->ticket(), Outcome::kOk);
}

void IdealQueuePair::fail(const Write& write) {
  world_.failed_operations.insert(write.dma->operation());
  report(write.dma->ticket(), Outcome::kError);
  if (!world_.options.faults.flush_queue_pair) return;
  for (const auto& behind : unpolled_) {
    if (behind->ticket() > write.dma->ticket()) behind->set_failing();
  }
}

void IdealQueuePair::report(Ticket ticket, Outcome outcome) {
  const Seconds visible = world_.after(world_.options.closed_form.acknowledge_latency);
  world_.events.at_in_order(completions_, visible, [this, ticket, outcome] {
    world_.ports[rank_.index()]->push(WritesDone{id_, ticket, outcome});
  });
}

void IdealQueuePair::polled(Ticket ticket) {
  std::erase_if(unpolled_, [&](const auto& write) {
    if (write->ticket() > ticket) return false;
    write->release();
    return true;
  });
}

void IdealQueuePair::die(bool finishes) {
  for (const Write& write : waiting_) write.dma->cancel();
  waiting_.clear();
  if (finishes) return;
  for (const auto& write : unpolled_) write->cancel();
}

void IdealQueuePair::revoke() {
  for (const auto& write : unpolled_) {
    write->cancel();
    write->release();
  }
  unpolled_.clear();
}

}  // namespace hoccl::engine
