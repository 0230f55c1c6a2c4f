#pragma once

#include <algorithm>

#include "engine/base/units.h"
#include "sim/machine/clock.h"

namespace hoccl::sim {

/// The time of one thread that runs on its own core: work is done in order, one piece after the
/// other, each from when the thread is free but not before the simulated present.
class CpuClock {
 public:
  explicit CpuClock(const Clock& clock) : clock_(clock) {}

  /// Does `cost` of work; returns when it is finished.
  engine::Seconds advance(engine::Seconds cost) {
    free_at_ = free_at() + cost;
    busy_ += cost;
    return free_at_;
  }
  /// When the thread can begin something new.
  [[nodiscard]] engine::Seconds free_at() const { return std::max(free_at_, clock_.now()); }
  [[nodiscard]] bool is_busy() const { return free_at_ > clock_.now(); }
  /// All work done or begun so far.
  [[nodiscard]] engine::Seconds busy_time() const { return busy_; }

 private:
  const Clock& clock_;
  engine::Seconds free_at_{0.0};
  engine::Seconds busy_{0.0};
};

}  // namespace hoccl::sim
