#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "sim/machine/callback.h"

namespace hoccl::sim {

/// Names a scheduled event. Stale ids are recognised.
struct EventId {
  std::uint32_t slot = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t generation = 0;

  bool operator==(const EventId&) const = default;
};

/// Events ordered by (time, sequence of insertion). A four-way heap of small keys; callbacks lie in
/// a slot table, so that sifting moves little. Cancelled entries stay until they surface or are
/// half of the heap: timeouts are cancelled far more often than they fire.
class EventHeap {
 public:
  struct Due {
    std::uint64_t sequence;
    EventId event;
  };

  EventId push(double time, Callback callback);
  bool cancel(EventId event);

  /// Infinity if empty.
  [[nodiscard]] double next_time() const {
    return keys_.empty() ? std::numeric_limits<double>::infinity() : keys_.front().time;
  }
  [[nodiscard]] std::size_t size() const { return keys_.size() - cancelled_count_; }

  /// Appends all events not later than `limit` to `due`, ordered by sequence; they can still be
  /// cancelled until take().
  void pop_due(double limit, std::vector<Due>& due);
  /// The callback of a popped event; false if it was cancelled meanwhile.
  bool take(EventId event, Callback& callback);

 private:
  enum class State : std::uint8_t { kFree, kQueued, kPopped, kCancelled };
  struct Key {
    double time;
    std::uint64_t sequence;
    std::uint32_t slot;
  };
  struct Slot {
    Callback callback;
    std::uint32_t generation = 0;
    State state = State::kFree;
  };

  static bool before(const Key& left, const Key& right) {
    return left.time < right.time || (left.time == right.time && left.sequence < right.sequence);
  }
  void sift_up(std::size_t index);
  void sift_down(std::size_t index);
  void pop_key();
  void drop_cancelled_heads();
  void compact();
  void free_slot(std::uint32_t slot);

  std::vector<Key> keys_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_slots_;
  std::uint64_t next_sequence_ = 0;
  std::size_t cancelled_count_ = 0;  ///< entries of keys_ that are cancelled
};

}  // namespace hoccl::sim
