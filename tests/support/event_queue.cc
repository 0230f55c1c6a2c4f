#include "tests/support/event_queue.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "engine/base/check.h"

namespace hoccl::engine {

bool EventQueue::later(const Event& left, const Event& right) {
  return std::tie(left.time, left.tie, left.number) > std::tie(right.time, right.tie, right.number);
}

void EventQueue::at(Seconds time, Action action) {
  HOCCL_CHECK(time >= now_, "event at {} s, but it is {} s already", time.count(), now_.count());
  const std::uint64_t tie = tie_breaker_ == nullptr ? 0 : tie_breaker_->next();
  heap_.push_back({time, tie, next_number_++, std::move(action)});
  std::push_heap(heap_.begin(), heap_.end(), later);
}

void EventQueue::at_in_order(Channel& channel, Seconds time, Action action) {
  channel.last = std::max(channel.last, time);
  channel.waiting.push_back(std::move(action));
  // The event runs whatever is first in the channel, so that ties broken at random keep the order.
  at(channel.last, [&channel] {
    const Action first = std::move(channel.waiting.front());
    channel.waiting.pop_front();
    first();
  });
}

void EventQueue::run_next() {
  std::pop_heap(heap_.begin(), heap_.end(), later);
  const Event event = std::move(heap_.back());
  heap_.pop_back();
  now_ = event.time;
  event.action();
}

void EventQueue::advance(Seconds time) {
  HOCCL_CHECK(time >= now_ && (heap_.empty() || heap_.front().time >= time),
              "cannot advance to {} s over an event", time.count());
  now_ = time;
}

}  // namespace hoccl::engine
