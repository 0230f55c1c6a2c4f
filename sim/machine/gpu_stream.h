#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "engine/base/units.h"
#include "sim/machine/clock.h"

namespace hoccl::sim {

class GpuStream;

/// A 64-bit word in memory that streams wait on (hardware: cuStreamWaitValue64, greater or equal).
class MemoryWord {
 public:
  [[nodiscard]] std::uint64_t value() const { return value_; }
  /// Wakes the streams whose value is reached, in the order in which they began to wait. The
  /// caller charges what the write costs and calls when it lands.
  void store(std::uint64_t value);

 private:
  friend class GpuStream;

  struct Waiter {
    GpuStream* stream;
    std::uint64_t value;
  };
  std::uint64_t value_ = 0;
  std::vector<Waiter> waiters_;
};

/// A GPU stream: items are executed one after the other in order.
class GpuStream {
 public:
  explicit GpuStream(Clock& clock) : clock_(clock) {}
  GpuStream(const GpuStream&) = delete;
  GpuStream& operator=(const GpuStream&) = delete;

  /// Calls `callback` `latency` after the stream reaches the item; the stream goes on at once.
  void enqueue_signal(Callback callback, engine::Seconds latency = engine::Seconds(0.0));
  /// Holds the stream until `word` is at least `value`, and `wake_latency` more. The latency is
  /// also paid when the value is already there: the hardware still reads the word.
  void enqueue_wait(MemoryWord& word, std::uint64_t value, engine::Seconds wake_latency);
  /// Occupies the stream for `duration`; then calls `done`.
  void enqueue_kernel(engine::Seconds duration, Callback done = {});
  /// Calls `begin` when the stream reaches the item and holds the stream until release(): for work
  /// whose duration somebody else decides.
  void enqueue_external(Callback begin);
  /// Ends the external item that holds the stream.
  void release();

  /// Nothing enqueued is unfinished. A signal is finished when the stream has passed it.
  [[nodiscard]] bool is_idle() const { return items_.empty(); }

 private:
  friend class MemoryWord;

  enum class Kind : std::uint8_t { kSignal, kWait, kKernel, kExternal };
  struct Item {
    Kind kind;
    Callback callback;
    engine::Seconds time{0.0};  ///< latency or duration
    MemoryWord* word = nullptr;
    std::uint64_t value = 0;
  };

  void push(const Item& item);
  /// Executes items until one takes time.
  void advance();
  /// Begins the front item; true if it is finished at once.
  bool begin_front();
  void word_reached();
  void front_finished();

  Clock& clock_;
  std::deque<Item> items_;  ///< front is in progress if has_begun_
  bool has_begun_ = false;
};

}  // namespace hoccl::sim
