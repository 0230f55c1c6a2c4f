#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "engine/fabric.h"

namespace hoccl::sim {

/// What a port will find when it polls, by the time at which it becomes visible; ties in order of
/// arrival. Records are recycled: a run passes millions of completions through here.
class Inbox {
 public:
  void push(engine::Seconds time, engine::Completion&& completion);

  /// Moves what is visible at `time` into `out`, oldest first; returns how many.
  std::size_t take(engine::Seconds time, std::span<engine::Completion> out);

  [[nodiscard]] bool empty() const { return heap_.empty(); }
  /// Infinite when empty.
  [[nodiscard]] engine::Seconds next_time() const {
    return engine::Seconds(heap_.empty() ? std::numeric_limits<double>::infinity()
                                         : heap_.front().time);
  }

 private:
  struct Key {
    double time;
    std::uint64_t sequence;
    std::uint32_t slot;
  };
  /// For std::*_heap, which keep the greatest in front.
  static bool later(const Key& left, const Key& right) {
    return left.time > right.time || (left.time == right.time && left.sequence > right.sequence);
  }

  std::vector<Key> heap_;
  std::vector<engine::Completion> slots_;
  std::vector<std::uint32_t> free_slots_;
  std::uint64_t next_sequence_ = 0;
};

}  // namespace hoccl::sim
