#include "hw/copy/host_copy_engine.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "hw/system/monotonic_clock.h"

namespace hoccl::hw {

using engine::CopiesDone;
using engine::Lane;
using engine::Ticket;

HostCopyEngine::HostCopyEngine(int threads_per_class, std::function<void()> wake, LegTrace& trace)
    : threads_per_class_(threads_per_class), wake_(std::move(wake)), trace_(trace) {}

HostCopyEngine::~HostCopyEngine() {
  for (Class& of_class : classes_) {
    {
      const std::scoped_lock lock(of_class.mutex);
      of_class.stopping = true;
    }
    of_class.changed.notify_all();
    for (std::thread& worker : of_class.workers) worker.join();
  }
}

Ticket HostCopyEngine::post(Lane id, Copy copy) {
  auto entry = lanes_.find(id);
  if (entry == lanes_.end()) {
    const std::scoped_lock lock(lanes_mutex_);
    entry = lanes_.emplace(id, std::make_unique<LaneState>(id)).first;
  }
  LaneState& lane = *entry->second;
  lane.open.push_back(std::move(copy));
  return Ticket(++lane.posted);
}

void HostCopyEngine::flush() {
  for (const auto& [id, lane] : lanes_) {
    if (!lane->open.empty()) hand_over(*lane);
  }
}

void HostCopyEngine::hand_over(LaneState& lane) {
  Class& of_class = classes_[static_cast<std::size_t>(lane.lane.copy_class)];
  {
    const std::scoped_lock lock(of_class.mutex);
    if (of_class.workers.empty()) {
      for (int i = 0; i < threads_per_class_; ++i) {
        of_class.workers.emplace_back([this, &of_class] { work(of_class); });
      }
    }
    lane.handed_over.store(lane.posted, std::memory_order_release);
    if (lane.queue.empty() && !lane.served) of_class.ready.push_back(&lane);
    std::ranges::move(lane.open, std::back_inserter(lane.queue));
  }
  lane.open.clear();
  of_class.changed.notify_one();
}

void HostCopyEngine::work(Class& of_class) {
  std::unique_lock lock(of_class.mutex);
  while (true) {
    of_class.changed.wait(lock, [&] { return of_class.stopping || !of_class.ready.empty(); });
    if (of_class.stopping) return;
    LaneState& lane = *of_class.ready.front();
    of_class.ready.pop_front();
    const Copy copy = std::move(lane.queue.front());
    lane.queue.pop_front();
    lane.served = true;  // FIFO: no other worker takes the lane's next copy meanwhile
    lock.unlock();
    const engine::Seconds begin = monotonic_now();
    std::memcpy(copy.target.data, copy.source.data, static_cast<std::size_t>(copy.size.count()));
    trace_.copied(lane.lane, copy.leg, copy.tag, copy.size, begin, monotonic_now());
    lane.done.fetch_add(1, std::memory_order_release);
    wake_();
    lock.lock();
    lane.served = false;
    if (!lane.queue.empty()) of_class.ready.push_back(&lane);
  }
}

std::optional<CopiesDone> HostCopyEngine::poll() {
  for (const auto& [id, lane] : lanes_) {
    const std::int64_t done = lane->done.load(std::memory_order_acquire);
    if (done == lane->reported) continue;
    lane->reported = done;
    return CopiesDone{id, Ticket(done), engine::Outcome::kOk};
  }
  return std::nullopt;
}

bool HostCopyEngine::idle() const {
  const std::scoped_lock lock(lanes_mutex_);
  return std::ranges::all_of(lanes_, [](const auto& entry) {
    return entry.second->done.load(std::memory_order_acquire) ==
           entry.second->handed_over.load(std::memory_order_acquire);
  });
}

}  // namespace hoccl::hw
