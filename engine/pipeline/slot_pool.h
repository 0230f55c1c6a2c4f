#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "engine/base/check.h"
#include "engine/fabric.h"
#include "engine/pipeline/messages.h"

namespace hoccl::engine {

/// The slots of one pool of one staging place, as its host sees them. A slot's generation grows
/// each time it is taken, so that a message about an earlier use is recognised. `Slot` has a member
/// `generation`.
template <class Slot>
class SlotPool {
 public:
  SlotPool(const StagingPlace& place, Rank host, std::int32_t count)
      : place_(&place), slots_(static_cast<std::size_t>(count)) {
    HOCCL_CHECK(place.host == host, "place {} is hosted by rank {}, not by {}", place.place,
                place.host, host);
    for (std::int32_t i = 0; i < count; ++i) free_.push_back(static_cast<std::uint16_t>(i));
  }

  [[nodiscard]] const StagingPlace& place() const { return *place_; }
  [[nodiscard]] std::size_t size() const { return slots_.size(); }
  [[nodiscard]] Slot& operator[](std::size_t index) { return slots_[index]; }
  [[nodiscard]] const Slot& operator[](std::size_t index) const { return slots_[index]; }
  [[nodiscard]] std::size_t free_count() const { return free_.size(); }

  /// The slot a message speaks of.
  Slot& at(const SlotReference& reference) {
    HOCCL_CHECK(reference.slot < slots_.size(), "slot {} of {} at place {}", reference.slot,
                slots_.size(), place_->place);
    Slot& slot = slots_[reference.slot];
    HOCCL_CHECK(slot.generation == reference.generation,
                "slot {} at place {} is of generation {}, the message of {}", reference.slot,
                place_->place, slot.generation, reference.generation);
    return slot;
  }

  [[nodiscard]] bool has_free() const { return !free_.empty(); }
  [[nodiscard]] bool all_free() const { return free_count() == slots_.size(); }

  /// The slot that has been free longest. Needs has_free().
  SlotReference take() {
    HOCCL_CHECK(has_free(), "no slot is free at place {}", place_->place);
    const std::uint16_t index = free_.front();
    free_.pop_front();
    slots_[index].generation += 1;
    return {index, static_cast<std::uint16_t>(place_->place.value()), slots_[index].generation};
  }
  void give_back(std::uint16_t index) { free_.push_back(index); }

 private:
  const StagingPlace* place_;
  std::vector<Slot> slots_;
  std::deque<std::uint16_t> free_;
};

}  // namespace hoccl::engine
