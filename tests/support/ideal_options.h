#pragma once

#include <cstdint>
#include <functional>

#include "engine/base/units.h"
#include "engine/fabric.h"

namespace hoccl::engine {

enum class Timing : std::uint8_t {
  /// Every duration follows from IdealTiming, so that a test can compute when things happen.
  kClosedForm,
  /// Every duration is drawn anew; whatever the seam leaves open is decided by the seed.
  kAdversarial,
};

/// Durations of the closed form. Lanes and queue pairs do not share anything: each is serial in
/// itself and independent of all others.
struct IdealTiming {
  /// A flushed batch occupies its lane for `copy_launch` + its bytes / `copy_rate`; its copies end
  /// together.
  Seconds copy_launch = Seconds(2e-6);
  BytesPerSecond copy_rate = BytesPerSecond(200e9);
  /// A write occupies its queue pair for bytes / `write_rate`, lands `write_latency` later, and is
  /// done at the sender `acknowledge_latency` after that.
  BytesPerSecond write_rate = BytesPerSecond(50e9);
  Seconds write_latency = Seconds(3e-6);
  Seconds acknowledge_latency = Seconds(1e-6);
  Seconds message_latency = Seconds(1e-6);
  Seconds export_latency = Seconds(10e-6);
};

/// What goes wrong. The predicates are asked once per copy or write, when it starts.
struct IdealFaults {
  double copy_error = 0.0;   ///< probability per copy
  double write_error = 0.0;  ///< probability per write
  std::function<bool(Rank, const CopyRequest&)> copy_fails;
  std::function<bool(Rank, const WriteRequest&)> write_fails;
  /// A failing write takes those posted behind it on its queue pair along, as verbs do.
  bool flush_queue_pair = false;
  /// Buffers that cannot be exported (on hardware: VMM memory).
  std::function<bool(BufferHandle)> export_fails;
  /// Buffers that a rank cannot import, although they were exported.
  std::function<bool(Rank, BufferHandle)> import_fails;
  /// Buffers that NICs cannot be let into.
  std::function<bool(BufferHandle)> register_fails;
  /// Whether copies and writes that a dying rank has in flight still end.
  bool dead_dma_finishes = true;
  /// PeerLost follows a death after this long; negative: it never does.
  Seconds detection_delay = Seconds(1e-3);
};

struct IdealOptions {
  Timing timing = Timing::kClosedForm;
  std::uint64_t seed = 1;
  IdealTiming closed_form;
  /// Adversarial durations are log-uniform over three orders of magnitude, from this one up.
  Seconds shortest_delay = Seconds(100e-9);

  Bytes slot_size = Bytes(1 << 20);
  int send_slots = 8;
  int receive_slots = 8;
  /// Writes of one queue pair that may be posted and not yet polled.
  int queue_depth = 128;

  IdealFaults faults;
  /// Bytes that landed in a slot must be read before the slot is written again. Off where
  /// operations may fail, because then slots are given up with their contents.
  bool slots_are_read = true;
  /// A byte of a user buffer is written once, until IdealFabric::reset_written().
  bool write_once = true;

  /// Where run() gives up.
  Seconds time_limit = Seconds(1e6);
  std::int64_t step_limit = 10'000'000;
};

}  // namespace hoccl::engine
