#include "hw/link/loopback_link.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "hw/system/monotonic_clock.h"

namespace hoccl::hw {

using engine::Seconds;

LoopbackLink::LoopbackLink(Node& node, const Wire& wire, LegTrace& trace)
    : LocalLink(node.messenger(), node.doorbell()), node_(node), wire_(wire), trace_(trace) {}

LoopbackLink::~LoopbackLink() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void LoopbackLink::carry(const Write& write) {
  {
    const std::scoped_lock lock(mutex_);
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
    // From when it was posted, not from when the thread wakes up: so a late wake-up costs one
    // write its latency, but no rate.
    Seconds& free_at = free_at_[write.queue_pair->local];
    const Seconds begin = std::max(monotonic_now(), free_at);
    if (wire_.rate) free_at = begin + write.request.local.size / *wire_.rate;
    events_.push({begin, next_order_++, false, begin, write, node_.bytes(write.request.local),
                  node_.bytes(write.request.remote)});
  }
  changed_.notify_one();
}

void LoopbackLink::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (events_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const Seconds wait = events_.top().time - monotonic_now();
    if (wait > Seconds(0.0)) {
      changed_.wait_for(lock, std::chrono::duration<double>(wait.count()));
      continue;
    }
    Event event = events_.top();
    events_.pop();
    lock.unlock();
    happen(std::move(event));
    lock.lock();
  }
}

void LoopbackLink::happen(Event event) {
  if (event.arrives) {
    arrives(event.write);
    return;
  }
  const engine::Bytes size = event.write.request.local.size;
  std::memcpy(event.target.data, event.source.data, static_cast<std::size_t>(size.count()));
  const Seconds sent = wire_.rate ? event.begin + size / *wire_.rate : monotonic_now();
  trace_.written(event.write.queue_pair->local, event.write.request.tag, size, event.begin, sent);
  event.arrives = true;
  event.time = sent + wire_.delay;
  // Even when it is due: what was posted before it arrives before it.
  const std::scoped_lock lock(mutex_);
  event.order = next_order_++;
  events_.push(std::move(event));
}

}  // namespace hoccl::hw
