#include "sim/machine/clock.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <simgrid/kernel/resource/Model.hpp>
#include <simgrid/s4u/Engine.hpp>

#include "engine/base/check.h"
#include "sim/machine/simgrid_config.h"

namespace hoccl::sim {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

/// Latest time that belongs to the instant that begins at `time`.
double end_of_instant(double time) { return time * (1.0 + kSameInstant); }

}  // namespace

/// How the clock takes part in SimGrid's search for the next date. A model costs less per event
/// than re-arming a kernel timer, which allocates.
class Clock::EventModel : public simgrid::kernel::resource::Model {
 public:
  explicit EventModel(Clock* clock) : Model("hoccl_events"), clock_(clock) {}

  void detach() { clock_ = nullptr; }

  double next_occurring_event(double now) override {
    return clock_ == nullptr ? -1.0 : clock_->next_delay(now);
  }
  void update_actions_state(double /*now*/, double /*delta*/) override {}

 private:
  friend class Clock;
  Clock* clock_;
};

Clock::Clock() {
  start_simgrid();
  model_ = std::make_shared<EventModel>(this);
  simgrid::s4u::Engine::get_instance()->add_model(model_);
  // After all models have moved to the new date: what is delivered may start and end flows.
  simgrid::s4u::Engine::on_time_advance_cb([model = model_](double /*delta*/) {
    if (model->clock_ != nullptr) model->clock_->step(simgrid::s4u::Engine::get_clock());
  });
}

Clock::~Clock() { model_->detach(); }

EventId Clock::at(engine::Seconds time, Callback callback) {
  HOCCL_CHECK(std::isfinite(time.count()) && end_of_instant(time.count()) >= now_,
              "event at {} s, but it is {} s", time.count(), now_);
  return events_.push(std::max(time.count(), now_), callback);
}

EventId Clock::after(engine::Seconds delay, Callback callback) {
  HOCCL_CHECK(std::isfinite(delay.count()) && delay.count() >= 0.0, "delay of {} s", delay.count());
  return events_.push(now_ + delay.count(), callback);
}

void Clock::run() { simgrid::s4u::Engine::get_instance()->run(); }

void Clock::run_until(engine::Seconds time) {
  HOCCL_CHECK(time.count() >= now_, "run until {} s, but it is {} s", time.count(), now_);
  // A little further, so that completions of the last instant are not cut off by rounding.
  const double limit = end_of_instant(end_of_instant(time.count()));
  const auto* engine = simgrid::s4u::Engine::get_instance();
  // SimGrid ends a run 1e-5 s early, after at least one step.
  do {
    engine->run_until(limit);
  } while (simgrid::s4u::Engine::get_clock() < limit || retry_ || held_ ||
           events_.next_time() <= limit);
  now_ = time.count();
}

double Clock::next_delay(double simgrid_now) {
  if (retry_) return 0.0;
  if (held_) return -1.0;
  const double next = events_.next_time();
  return next == kNever ? -1.0 : std::max(0.0, next - simgrid_now);
}

void Clock::step(double simgrid_now) {
  ++step_count_;
  retry_ = false;
  held_ = false;
  // SimGrid's date is a sum of differences; the exact date is the one of what is due.
  const double next =
      std::min(events_.next_time(), source_ == nullptr ? kNever : source_->next_completion());
  const double instant = next <= end_of_instant(simgrid_now) ? next : simgrid_now;
  if (source_ != nullptr) {
    switch (source_->readiness(instant)) {
      case CompletionSource::Readiness::kNothingDue:
        break;
      case CompletionSource::Readiness::kDue:
        now_ = std::max(now_, instant);
        delivered_count_ += source_->deliver_due(instant);
        break;
      case CompletionSource::Readiness::kRetry:
        retry_ = true;
        return;
      case CompletionSource::Readiness::kImminent:
        held_ = true;
        return;
    }
  }
  deliver_events(end_of_instant(std::max(instant, now_)));
}

void Clock::deliver_events(double limit) {
  while (events_.next_time() <= limit) {
    now_ = std::max(now_, events_.next_time());
    due_.clear();
    events_.pop_due(limit, due_);
    for (const EventHeap::Due& due : due_) {
      Callback callback;
      if (!events_.take(due.event, callback)) continue;
      ++delivered_count_;
      callback();
    }
  }
}

}  // namespace hoccl::sim
