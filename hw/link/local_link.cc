#include "hw/link/local_link.h"

#include <cstring>

#include "engine/base/check.h"

namespace hoccl::hw {

using engine::NicId;
using engine::Outcome;
using engine::QueuePairId;
using engine::Rank;
using engine::Ticket;
using engine::WriteRequest;
using engine::WritesDone;

LocalLink::LocalLink(Messenger& messenger, Doorbell& doorbell)
    : messenger_(messenger), doorbell_(doorbell) {}

QueuePairId LocalLink::queue_pair(NicId local, NicId remote, Rank peer, int index) {
  const auto [entry, is_new] =
      ids_.try_emplace({local, remote, peer, index}, QueuePairId(queue_pairs_.size()));
  if (is_new) {
    const std::scoped_lock lock(mutex_);
    QueuePair& added = queue_pairs_.emplace_back();
    added.id = entry->second;
    added.local = local;
    added.remote = remote;
    added.peer = peer;
  }
  return entry->second;
}

Ticket LocalLink::post_write(QueuePairId id, const WriteRequest& request) {
  HOCCL_CHECK(request.local.size == request.remote.size && request.local.size.count() > 0,
              "write of {} bytes to a region of {}", request.local.size.count(),
              request.remote.size.count());
  QueuePair& queue_pair = queue_pairs_.at(id.index());
  const std::int64_t ticket = ++queue_pair.posted;
  under_way_.fetch_add(1, std::memory_order_relaxed);
  carry({&queue_pair, ticket, request});
  return Ticket(ticket);
}

void LocalLink::post_message(Rank target, const engine::Message& /*message*/) {
  HOCCL_CHECK(false, "a message to rank {}, which shares memory with this one, is not a link's",
              target);
}

void LocalLink::arrives(const Write& write) {
  QueuePair& queue_pair = *write.queue_pair;
  bool is_lost = false;
  {
    const std::scoped_lock lock(mutex_);
    is_lost = lost_.contains(queue_pair.peer);
    if (is_lost) queue_pair.failed.push_back(write.ticket);
  }
  if (!is_lost) {
    Record record;
    record.kind = Record::Kind::kArrival;
    record.local_nic = queue_pair.remote.value();
    record.remote_nic = queue_pair.local.value();
    record.immediate = write.request.immediate;
    std::memcpy(record.payload.data(), &write.request.descriptor, record.payload.size());
    messenger_.send(queue_pair.peer, record);
  }
  // The bell after the send also lets our proxy send what may have found a full ring.
  queue_pair.done.store(write.ticket, std::memory_order_release);
  under_way_.fetch_sub(1, std::memory_order_release);
  doorbell_.ring();
}

std::optional<LinkEvent> LocalLink::poll() {
  for (QueuePair& queue_pair : queue_pairs_) {
    const std::int64_t done = queue_pair.done.load(std::memory_order_acquire);
    if (done == queue_pair.reported) continue;
    const std::scoped_lock lock(mutex_);
    // Up to the first failed ticket, which is a completion of its own.
    const bool failed = !queue_pair.failed.empty() && queue_pair.failed.front() <= done;
    queue_pair.reported = failed ? queue_pair.failed.front() : done;
    if (failed) queue_pair.failed.pop_front();
    return WritesDone{queue_pair.id, Ticket(queue_pair.reported),
                      failed ? Outcome::kError : Outcome::kOk};
  }
  return std::nullopt;
}

void LocalLink::peer_lost(Rank peer) {
  const std::scoped_lock lock(mutex_);
  lost_.insert(peer);
}

bool LocalLink::idle() const { return under_way_.load(std::memory_order_acquire) == 0; }

}  // namespace hoccl::hw
