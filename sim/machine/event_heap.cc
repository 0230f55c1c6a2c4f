#include "sim/machine/event_heap.h"

#include <algorithm>

#include "engine/base/check.h"

namespace hoccl::sim {
namespace {

constexpr std::size_t kArity = 4;

/// Below this size a heap is not worth compacting.
constexpr std::size_t kMinCompactSize = 64;

}  // namespace

EventId EventHeap::push(double time, Callback callback) {
  std::uint32_t slot;
  if (free_slots_.empty()) {
    slot = static_cast<std::uint32_t>(slots_.size());
    slots_.emplace_back();
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  slots_[slot].callback = callback;
  slots_[slot].state = State::kQueued;
  keys_.push_back({time, next_sequence_++, slot});
  sift_up(keys_.size() - 1);
  return {slot, slots_[slot].generation};
}

bool EventHeap::cancel(EventId event) {
  if (event.slot >= slots_.size()) return false;
  Slot& slot = slots_[event.slot];
  if (slot.generation != event.generation) return false;
  if (slot.state == State::kPopped) {
    slot.state = State::kCancelled;
    return true;
  }
  if (slot.state != State::kQueued) return false;
  slot.state = State::kCancelled;
  ++cancelled_count_;
  drop_cancelled_heads();
  if (keys_.size() > kMinCompactSize && cancelled_count_ * 2 > keys_.size()) compact();
  return true;
}

void EventHeap::pop_due(double limit, std::vector<Due>& due) {
  const std::size_t first = due.size();
  while (!keys_.empty() && keys_.front().time <= limit) {
    const Key key = keys_.front();
    Slot& slot = slots_[key.slot];
    HOCCL_CHECK(slot.state == State::kQueued, "slot {} surfaced in state {}", key.slot,
                static_cast<int>(slot.state));
    slot.state = State::kPopped;
    due.push_back({key.sequence, {key.slot, slot.generation}});
    pop_key();
    drop_cancelled_heads();
  }
  if (due.size() - first > 1) {
    std::sort(due.begin() + static_cast<std::ptrdiff_t>(first), due.end(),
              [](const Due& left, const Due& right) { return left.sequence < right.sequence; });
  }
}

bool EventHeap::take(EventId event, Callback& callback) {
  Slot& slot = slots_[event.slot];
  HOCCL_CHECK(slot.generation == event.generation && slot.state != State::kQueued,
              "event {} was not popped", event.slot);
  const bool valid = slot.state == State::kPopped;
  callback = slot.callback;
  free_slot(event.slot);
  return valid;
}

void EventHeap::sift_up(std::size_t index) {
  const Key key = keys_[index];
  while (index > 0) {
    const std::size_t parent = (index - 1) / kArity;
    if (!before(key, keys_[parent])) break;
    keys_[index] = keys_[parent];
    index = parent;
  }
  keys_[index] = key;
}

void EventHeap::sift_down(std::size_t index) {
  const Key key = keys_[index];
  const std::size_t size = keys_.size();
  for (;;) {
    const std::size_t first = index * kArity + 1;
    if (first >= size) break;
    const std::size_t last = std::min(first + kArity, size);
    std::size_t best = first;
    for (std::size_t child = first + 1; child < last; ++child) {
      if (before(keys_[child], keys_[best])) best = child;
    }
    if (!before(keys_[best], key)) break;
    keys_[index] = keys_[best];
    index = best;
  }
  keys_[index] = key;
}

void EventHeap::pop_key() {
  keys_.front() = keys_.back();
  keys_.pop_back();
  if (!keys_.empty()) sift_down(0);
}

void EventHeap::drop_cancelled_heads() {
  while (!keys_.empty() && slots_[keys_.front().slot].state == State::kCancelled) {
    free_slot(keys_.front().slot);
    --cancelled_count_;
    pop_key();
  }
}

void EventHeap::compact() {
  std::erase_if(keys_, [this](const Key& key) {
    if (slots_[key.slot].state != State::kCancelled) return false;
    free_slot(key.slot);
    return true;
  });
  cancelled_count_ = 0;
  for (std::size_t index = keys_.size(); index-- > 0;) sift_down(index);
}

void EventHeap::free_slot(std::uint32_t slot) {
  slots_[slot].state = State::kFree;
  ++slots_[slot].generation;
  free_slots_.push_back(slot);
}

}  // namespace hoccl::sim
