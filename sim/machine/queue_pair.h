#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "engine/base/units.h"
#include "sim/machine/clock.h"
#include "sim/machine/network.h"

namespace hoccl::sim {

struct QueuePairParameters {
  engine::Seconds message_overhead{0.0};    ///< occupies the queue pair before each write's bytes
  engine::Seconds one_way_latency{0.0};     ///< end of the transfer to the arrival at the target
  engine::Seconds completion_latency{0.0};  ///< arrival to the completion at the source
  /// Start of a failing write to its error completion (the NIC's retries). Writes behind it are
  /// flushed with an error at the same instant.
  engine::Seconds error_latency{0.0};
};

struct Write {
  RouteId route;
  engine::Bytes size;
  Callback arrived;    ///< at the target
  Callback completed;  ///< at the source
  Callback failed;     ///< at the source, instead of the other two
  std::uint64_t tag = 0;
  engine::BytesPerSecond rate_limit = kNoRateLimit;
};

/// One write as the queue pair executed it, failed or not.
struct WriteInterval {
  engine::Seconds begin;  ///< start of the overhead
  engine::Seconds end;    ///< end of the transfer, or the error
  engine::Bytes size;
  std::uint64_t tag = 0;
  bool failed = false;
};

class WriteObserver {
 public:
  virtual ~WriteObserver() = default;
  virtual void written(const WriteInterval& interval) = 0;
};

/// Decides which writes fail; asked once, when a write is begun.
class WriteFaults {
 public:
  virtual ~WriteFaults() = default;
  [[nodiscard]] virtual bool should_fail(const Write& write) = 0;
};

/// The sending end of one reliable connection. Writes are executed one after the other in order:
/// overhead, then bytes; arrival and completion latencies are pipelined behind. After a failure it
/// is in error: every write, queued or posted later, fails, until reset().
class QueuePair {
 public:
  QueuePair(Clock& clock, Network& network, const QueuePairParameters& parameters);
  QueuePair(const QueuePair&) = delete;
  QueuePair& operator=(const QueuePair&) = delete;

  void post(const Write& write);
  /// The connection breaks now: the write in progress and all queued ones fail, after the
  /// completions of earlier writes. Writes whose bytes have left still arrive and complete.
  void fail();
  /// Usable again. Must be in error with nothing pending.
  void reset();

  void set_observer(WriteObserver* observer) { observer_ = observer; }
  void set_faults(WriteFaults* faults) { faults_ = faults; }
  [[nodiscard]] bool in_error() const { return in_error_; }
  /// Writes posted that have neither completed nor failed.
  [[nodiscard]] std::size_t pending_count() const { return queue_.size() + in_flight_.size(); }
  [[nodiscard]] engine::Seconds busy_time() const { return busy_; }

 private:
  enum class Stage : std::uint8_t { kIdle, kOverhead, kTransfer, kFailing };

  void begin_next();
  void begin_transfer();
  void transfer_ended();
  void arrive();
  void complete();
  /// Goes into error; the queued writes fail once the earlier ones have completed.
  void break_connection();
  void schedule_flush();
  void flush();
  void observe(bool failed);

  Clock& clock_;
  Network& network_;
  QueuePairParameters parameters_;
  WriteObserver* observer_ = nullptr;
  WriteFaults* faults_ = nullptr;
  std::deque<Write> queue_;        ///< front is in progress unless idle
  std::deque<Write> in_flight_;    ///< bytes have left, not completed
  std::size_t arrived_count_ = 0;  ///< leading entries of in_flight_ that have arrived
  Stage stage_ = Stage::kIdle;
  bool in_error_ = false;
  bool flush_scheduled_ = false;
  EventId timer_;
  FlowHandle flow_;
  engine::Seconds begin_{0.0};
  engine::Seconds busy_{0.0};
};

}  // namespace hoccl::sim
