#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <utility>
#include <variant>

#include "engine/fabric.h"
#include "tests/support/ideal_world.h"

namespace hoccl::engine {

/// Mark in a stream that other streams of the same rank can wait for.
using EventId = StrongId<struct StreamEventTag>;

/// The GPU streams of all ranks: each a FIFO, none waits for another unless told to.
class IdealStreams {
 public:
  explicit IdealStreams(IdealWorld& world) : world_(world) {}

  void enqueue_ready(Rank rank, Gate gate, Sequence sequence);
  void enqueue_wait(Rank rank, Gate gate, Sequence sequence);
  void enqueue_foreground(Rank rank, StreamId stream, bool active);
  void enqueue_delay(Rank rank, StreamId stream, Seconds time);
  void enqueue_callback(Rank rank, StreamId stream, std::function<void()> callback);
  EventId enqueue_record_event(Rank rank, StreamId stream);
  void enqueue_wait_event(Rank rank, StreamId stream, EventId event);

  void open_gate(Rank rank, Gate gate, Sequence sequence);
  /// The rank's streams stop and its foreground work no longer counts.
  void die(Rank rank);
  /// Everything enqueued on living ranks has run.
  [[nodiscard]] bool drained() const;
  [[nodiscard]] bool drained(Rank rank, StreamId stream) const;

 private:
  struct Ready {
    Gate gate;
    Sequence sequence = 0;
  };
  struct Wait {
    Gate gate;
    Sequence sequence = 0;
  };
  struct Foreground {
    bool active = false;
  };
  struct Delay {
    Seconds time{0.0};
  };
  struct Callback {
    std::function<void()> function;
  };
  struct RecordEvent {
    EventId event;
  };
  struct WaitEvent {
    EventId event;
  };
  using Item = std::variant<Ready, Wait, Foreground, Delay, Callback, RecordEvent, WaitEvent>;

  using Key = std::pair<Rank, StreamId>;
  struct Stream {
    std::deque<Item> items;
    bool running = false;  // an event will go on with it
    bool foreground = false;
  };
  struct GateState {
    Sequence enqueued_ready = 0;
    Sequence posted = 0;  // what open_gate asked for
    Sequence open = 0;    // what the stream sees
    EventQueue::Channel reached;
    EventQueue::Channel opening;
  };

  void enqueue(Key key, Item item);
  void resume(Key key);
  void run_first(Key key);
  bool may_run(Key key, const Item& item);
  void execute(Key key, const Item& item);
  void update_foreground(Rank rank);

  IdealWorld& world_;
  std::map<Key, Stream> streams_;
  std::map<std::pair<Rank, Gate>, GateState> gates_;
  std::map<EventId, bool> events_;               // recorded
  std::map<int, bool> foreground_;               // by physical GPU
  std::map<Rank, EventQueue::Channel> notices_;  // of foreground changes
};

}  // namespace hoccl::engine
