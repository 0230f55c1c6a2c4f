#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/base/units.h"
#include "sim/machine/callback.h"
#include "sim/machine/event_heap.h"

namespace hoccl::sim {

/// Two instants closer than this fraction of their time are the same instant. It is far above the
/// rounding of a chain of double operations (1e-16 each), so that events that coincide by
/// arithmetic coincide in the run whatever the network model rounds, and far below any latency.
inline constexpr double kSameInstant = 1e-12;

/// What a network model tells the clock, so that completions come before the events of the same
/// instant. Implemented by networks only.
class CompletionSource {
 public:
  virtual ~CompletionSource() = default;

  enum class Readiness : std::uint8_t {
    kNothingDue,  ///< no completion at this instant
    kDue,         ///< deliver_due() has completions of this instant to deliver
    kRetry,       ///< completions of this instant exist but SimGrid reports them one step later
    kImminent,    ///< one more completion follows within kSameInstant
  };

  /// Time of the next completion, as far as the model knows it itself; infinity if none or if
  /// SimGrid keeps it.
  [[nodiscard]] virtual double next_completion() = 0;
  /// Whether completions of the instant `instant` (seconds) can be delivered.
  [[nodiscard]] virtual Readiness readiness(double instant) = 0;
  /// Calls the callbacks of all completions of this instant, in order of flow id; their number.
  virtual std::uint64_t deliver_due(double instant) = 0;
};

/// The simulated time and its events, on SimGrid's clock: SimGrid's engine advances the time, this
/// class tells it when the next event is and delivers the events of each instant. At one instant
/// (see kSameInstant) network completions come first, in order of flow id, then events in the
/// order in which they were scheduled. One per process, because SimGrid keeps global state.
class Clock {
 public:
  /// Starts SimGrid with all model flags set explicitly.
  Clock();
  ~Clock();
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;

  [[nodiscard]] engine::Seconds now() const { return engine::Seconds(now_); }

  /// `time` must not be before now() (by more than rounding).
  EventId at(engine::Seconds time, Callback callback);
  /// `delay` must not be negative.
  EventId after(engine::Seconds delay, Callback callback);
  /// False if the event was already delivered or cancelled.
  bool cancel(EventId event) { return events_.cancel(event); }

  /// Runs until no event and no flow is left. May be called again after more was scheduled.
  void run();
  /// Delivers everything up to and including `time`; then now() is `time`. Flows in progress stay.
  void run_until(engine::Seconds time);

  /// Events and completions delivered so far, and distinct steps of SimGrid's engine.
  [[nodiscard]] std::uint64_t delivered_count() const { return delivered_count_; }
  [[nodiscard]] std::uint64_t step_count() const { return step_count_; }

  /// For network models: at most one source.
  void set_completion_source(CompletionSource* source) { source_ = source; }

 private:
  class EventModel;

  /// Seconds from SimGrid's time `simgrid_now` to the next instant with something to do, or a
  /// negative value if there is none.
  double next_delay(double simgrid_now);
  /// Called by SimGrid after each step of its time.
  void step(double simgrid_now);
  void deliver_events(double limit);

  EventHeap events_;
  std::vector<EventHeap::Due> due_;
  CompletionSource* source_ = nullptr;
  double now_ = 0.0;
  bool held_ = false;   ///< wait for a completion that SimGrid will report within kSameInstant
  bool retry_ = false;  ///< step again without advancing the time
  std::uint64_t delivered_count_ = 0;
  std::uint64_t step_count_ = 0;
  std::shared_ptr<EventModel> model_;
};

}  // namespace hoccl::sim
