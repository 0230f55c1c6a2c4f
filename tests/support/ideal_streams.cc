#include "tests/support/ideal_streams.h"

#include <algorithm>
#include <type_traits>

#include "engine/base/check.h"
#include "tests/support/ideal_port.h"

namespace hoccl::engine {

void IdealStreams::enqueue_ready(Rank rank, Gate gate, Sequence sequence) {
  GateState& state = gates_[{rank, gate}];
  HOCCL_CHECK(sequence > state.enqueued_ready, "rank {}, stream {}: ready({}) after ready({})",
              rank, gate.stream, sequence, state.enqueued_ready);
  state.enqueued_ready = sequence;
  enqueue({rank, gate.stream}, Ready{gate, sequence});
}

void IdealStreams::enqueue_wait(Rank rank, Gate gate, Sequence sequence) {
  enqueue({rank, gate.stream}, Wait{gate, sequence});
}

void IdealStreams::enqueue_foreground(Rank rank, StreamId stream, bool active) {
  enqueue({rank, stream}, Foreground{active});
}

void IdealStreams::enqueue_delay(Rank rank, StreamId stream, Seconds time) {
  enqueue({rank, stream}, Delay{time});
}

void IdealStreams::enqueue_callback(Rank rank, StreamId stream, std::function<void()> callback) {
  enqueue({rank, stream}, Callback{std::move(callback)});
}

EventId IdealStreams::enqueue_record_event(Rank rank, StreamId stream) {
  const EventId event(events_.size());
  events_.emplace(event, false);
  enqueue({rank, stream}, RecordEvent{event});
  return event;
}

void IdealStreams::enqueue_wait_event(Rank rank, StreamId stream, EventId event) {
  enqueue({rank, stream}, WaitEvent{event});
}

void IdealStreams::enqueue(Key key, Item item) {
  HOCCL_CHECK(!world_.ports[key.first.index()]->dead(), "rank {} enqueues after its death",
              key.first);
  streams_[key].items.push_back(std::move(item));
  resume(key);
}

bool IdealStreams::may_run(Key key, const Item& item) {
  if (const auto* wait = std::get_if<Wait>(&item)) {
    return gates_[{key.first, wait->gate}].open >= wait->sequence;
  }
  if (const auto* wait = std::get_if<WaitEvent>(&item)) return events_.at(wait->event);
  return true;
}

void IdealStreams::resume(Key key) {
  Stream& stream = streams_[key];
  if (stream.running || stream.items.empty() || !may_run(key, stream.items.front())) return;
  stream.running = true;
  const auto* delay = std::get_if<Delay>(&stream.items.front());
  const Seconds time =
      delay != nullptr ? world_.events.now() + delay->time : world_.after(Seconds(0.0));
  world_.events.at(time, [this, key] { run_first(key); });
}

void IdealStreams::run_first(Key key) {
  Stream& stream = streams_[key];
  if (stream.items.empty()) return;  // its rank has died
  const Item item = std::move(stream.items.front());
  stream.items.pop_front();
  execute(key, item);
  stream.running = false;
  resume(key);
}

void IdealStreams::execute(Key key, const Item& item) {
  const Rank rank = key.first;
  std::visit(
      [&](const auto& kind) {
        using Kind = std::decay_t<decltype(kind)>;
        if constexpr (std::is_same_v<Kind, Ready>) {
          world_.events.at_in_order(gates_[{rank, kind.gate}].reached, world_.after(Seconds(0.0)),
                                    [this, rank, reached = GateReached{kind.gate, kind.sequence}] {
                                      world_.ports[rank.index()]->push(reached);
                                    });
        } else if constexpr (std::is_same_v<Kind, Foreground>) {
          streams_[key].foreground = kind.active;
          update_foreground(rank);
        } else if constexpr (std::is_same_v<Kind, Callback>) {
          kind.function();
        } else if constexpr (std::is_same_v<Kind, RecordEvent>) {
          events_.at(kind.event) = true;
          for (auto& [other, _] : streams_) {
            if (other != key) resume(other);
          }
        } else {
          static_assert(std::is_same_v<Kind, Wait> || std::is_same_v<Kind, Delay> ||
                        std::is_same_v<Kind, WaitEvent>);
        }
      },
      item);
}

void IdealStreams::open_gate(Rank rank, Gate gate, Sequence sequence) {
  GateState& state = gates_[{rank, gate}];
  HOCCL_CHECK(sequence >= state.posted, "rank {} closes the gate of stream {} from {} to {}", rank,
              gate.stream, state.posted, sequence);
  state.posted = sequence;
  world_.events.at_in_order(state.opening, world_.after(Seconds(0.0)),
                            [this, rank, gate, sequence, &state] {
                              state.open = sequence;
                              resume({rank, gate.stream});
                            });
}

void IdealStreams::update_foreground(Rank rank) {
  const Topology& topology = world_.topology;
  const auto device_of = [&](Rank one) { return topology.gpu(topology.gpu_of(one)).physical; };
  const int device = device_of(rank);
  const bool active = std::ranges::any_of(streams_, [&](const auto& entry) {
    return entry.second.foreground && device_of(entry.first.first) == device;
  });
  if (std::exchange(foreground_[device], active) == active) return;
  for (int i = 0; i < topology.rank_count(); ++i) {
    const Rank other(i);
    if (device_of(other) != device) continue;
    world_.events.at_in_order(notices_[other], world_.after(Seconds(0.0)), [this, other, active] {
      world_.ports[other.index()]->push(ForegroundChanged{active});
    });
  }
}

void IdealStreams::die(Rank rank) {
  for (auto& [key, stream] : streams_) {
    if (key.first != rank) continue;
    stream.items.clear();
    stream.foreground = false;
  }
  update_foreground(rank);
}

bool IdealStreams::drained() const {
  return std::ranges::all_of(streams_,
                             [](const auto& entry) { return entry.second.items.empty(); });
}

bool IdealStreams::drained(Rank rank, StreamId stream) const {
  const auto found = streams_.find({rank, stream});
  return found == streams_.end() || found->second.items.empty();
}

}  // namespace hoccl::engine
