#include "sim/fabric/inbox.h"

#include <algorithm>
#include <utility>

namespace hoccl::sim {

using engine::Completion;

void Inbox::push(engine::Seconds time, Completion&& completion) {
  std::uint32_t slot;
  if (free_slots_.empty()) {
    slot = static_cast<std::uint32_t>(slots_.size());
    slots_.push_back(std::move(completion));
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
    slots_[slot] = std::move(completion);
  }
  heap_.push_back({time.count(), next_sequence_++, slot});
  std::push_heap(heap_.begin(), heap_.end(), later);
}

std::size_t Inbox::take(engine::Seconds time, std::span<Completion> out) {
  std::size_t count = 0;
  while (count < out.size() && !heap_.empty() && heap_.front().time <= time.count()) {
    const std::uint32_t slot = heap_.front().slot;
    std::pop_heap(heap_.begin(), heap_.end(), later);
    heap_.pop_back();
    out[count++] = std::move(slots_[slot]);
    free_slots_.push_back(slot);
  }
  return count;
}

}  // namespace hoccl::sim
