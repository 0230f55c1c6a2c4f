#include "tests/support/ideal_fabric.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "engine/base/check.h"
#include "tests/support/ideal_port.h"

namespace hoccl::engine {
namespace {

/// How often, per event, an adversarial fabric steps a proxy for no reason.
constexpr double kSpuriousStep = 0.05;

}  // namespace

IdealFabric::IdealFabric(Topology topology, const IdealOptions& options)
    : world_(std::move(topology), options) {
  world_.streams = std::make_unique<IdealStreams>(world_);
  for (int rank = 0; rank < world_.topology.rank_count(); ++rank) {
    world_.ports.push_back(std::make_unique<IdealPort>(world_, Rank(rank)));
  }
  drivers_.resize(world_.ports.size());
}

IdealFabric::~IdealFabric() = default;

Port& IdealFabric::port(Rank rank) { return *world_.ports.at(rank.index()); }

BufferHandle IdealFabric::allocate(Rank owner, Bytes size) {
  return world_.memory.allocate(owner, size);
}

void IdealFabric::enqueue_delay(Rank rank, StreamId stream, Seconds time) {
  world_.streams->enqueue_delay(rank, stream, time);
}

void IdealFabric::enqueue_callback(Rank rank, StreamId stream, std::function<void()> callback) {
  world_.streams->enqueue_callback(rank, stream, std::move(callback));
}

EventId IdealFabric::enqueue_record_event(Rank rank, StreamId stream) {
  return world_.streams->enqueue_record_event(rank, stream);
}

void IdealFabric::enqueue_wait_event(Rank rank, StreamId stream, EventId event) {
  world_.streams->enqueue_wait_event(rank, stream, event);
}

void IdealFabric::at(Seconds time, std::function<void()> action) {
  world_.events.at(time, std::move(action));
}

void IdealFabric::kill(Rank rank, Seconds time) {
  world_.events.at(time, [this, rank] { world_.ports.at(rank.index())->die(); });
}

bool IdealFabric::streams_drained() const { return world_.streams->drained(); }

bool IdealFabric::stream_drained(Rank rank, StreamId stream) const {
  return world_.streams->drained(rank, stream);
}

bool IdealFabric::may_step(std::size_t rank) const {
  return drivers_[rank].proxy != nullptr && !world_.ports[rank]->dead();
}

void IdealFabric::schedule(std::size_t rank) {
  if (std::exchange(drivers_[rank].scheduled, true)) return;
  world_.events.at(world_.after(Seconds(0.0)), [this, rank] {
    drivers_[rank].scheduled = false;
    if (may_step(rank)) step(rank);
  });
}

void IdealFabric::step(std::size_t rank) {
  IdealPort& port = *world_.ports[rank];
  if (world_.adversarial()) {
    const auto pending = static_cast<std::int64_t>(port.pending());
    port.limit_polls(static_cast<std::size_t>(world_.random.between(0, 2 * pending)));
  }
  ++steps_;
  drivers_[rank].proxy->step();
  drivers_[rank].deadline = drivers_[rank].proxy->next_deadline();
  port.limit_polls(std::nullopt);
  HOCCL_CHECK(world_.adversarial() || port.pending() == 0,
              "the proxy of rank {} left {} completions unpolled", rank, port.pending());
  if (port.pending() > 0) schedule(rank);
}

void IdealFabric::wake_drivers() {
  for (std::size_t rank = 0; rank < drivers_.size(); ++rank) {
    const bool wanted = world_.ports[rank]->take_wake();
    if (!may_step(rank)) continue;
    if (wanted || (world_.adversarial() && world_.random.chance(kSpuriousStep))) schedule(rank);
  }
}

std::optional<std::size_t> IdealFabric::earliest_deadline() const {
  std::optional<std::size_t> earliest;
  for (std::size_t rank = 0; rank < drivers_.size(); ++rank) {
    if (!may_step(rank) || !drivers_[rank].deadline) continue;
    if (!earliest || *drivers_[rank].deadline < *drivers_[*earliest].deadline) earliest = rank;
  }
  return earliest;
}

RunEnd IdealFabric::run(std::span<Proxy* const> proxies) {
  HOCCL_CHECK(proxies.size() <= drivers_.size(), "{} proxies for {} ranks", proxies.size(),
              drivers_.size());
  world_.proxies_run = !proxies.empty();
  drivers_.assign(world_.ports.size(), Driver());
  std::ranges::transform(proxies, drivers_.begin(), [](Proxy* proxy) {
    return Driver{.proxy = proxy, .scheduled = false, .deadline = {}};
  });
  // A proxy may have had work before: it says itself when it wants to be called.
  for (std::size_t rank = 0; rank < drivers_.size(); ++rank) {
    if (may_step(rank)) schedule(rank);
  }
  const std::int64_t last_step = steps_ + world_.options.step_limit;
  while (true) {
    const std::optional<std::size_t> due = earliest_deadline();
    if (world_.events.empty() && !due) return RunEnd::kIdle;
    if (steps_ >= last_step) return RunEnd::kStepLimit;
    const bool event_first =
        !world_.events.empty() && (!due || world_.events.next_time() <= *drivers_[*due].deadline);
    const Seconds next = event_first ? world_.events.next_time()
                                     : std::max(*drivers_[*due].deadline, world_.events.now());
    if (next > world_.options.time_limit) return RunEnd::kTimeLimit;
    if (event_first) {
      world_.events.run_next();
      wake_drivers();
    } else {
      world_.events.advance(next);
      step(*due);
      wake_drivers();
    }
  }
}

}  // namespace hoccl::engine
