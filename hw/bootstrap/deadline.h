#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>

#include "engine/base/units.h"

namespace hoccl::hw {

/// A point in time that waiting ends at.
class Deadline {
 public:
  /// More than a year is a year: the clock's own type has an end.
  explicit Deadline(engine::Seconds from_now)
      : end_(std::chrono::steady_clock::now() +
             std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                 std::min(from_now, engine::Seconds(std::chrono::years(1))))) {}

  [[nodiscard]] bool passed() const { return left() <= engine::Seconds(0.0); }
  [[nodiscard]] engine::Seconds left() const { return end_ - std::chrono::steady_clock::now(); }
  /// For poll(): never negative, and rounded up, so that the deadline has passed afterwards.
  [[nodiscard]] int poll_milliseconds() const {
    return static_cast<int>(std::clamp(std::ceil(left().count() * 1e3), 0.0, 1e9));
  }

  auto operator<=>(const Deadline&) const = default;

 private:
  std::chrono::steady_clock::time_point end_;
};

}  // namespace hoccl::hw
