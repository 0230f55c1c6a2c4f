#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "engine/base/random.h"
#include "engine/base/units.h"

namespace hoccl::engine {

/// What happens when, in virtual time. Simultaneous events run in the order they were added, or in
/// random order when the queue was given a generator.
class EventQueue {
 public:
  using Action = std::function<void()>;

  /// Events of one channel never overtake each other. A channel must outlive its events.
  struct Channel {
    Seconds last{0.0};
    std::deque<Action> waiting;
  };

  explicit EventQueue(Random* tie_breaker) : tie_breaker_(tie_breaker) {}

  [[nodiscard]] Seconds now() const { return now_; }
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] Seconds next_time() const { return heap_.front().time; }

  void at(Seconds time, Action action);
  /// At `time`, or when its predecessor in the channel has run, whichever is later.
  void at_in_order(Channel& channel, Seconds time, Action action);
  void run_next();
  /// Moves the clock; no event may be due before.
  void advance(Seconds time);

 private:
  struct Event {
    Seconds time;
    std::uint64_t tie = 0;
    std::uint64_t number = 0;
    Action action;
  };
  static bool later(const Event& left, const Event& right);

  Random* tie_breaker_;
  Seconds now_{0.0};
  std::uint64_t next_number_ = 0;
  std::vector<Event> heap_;
};

}  // namespace hoccl::engine
