#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "engine/fabric.h"
#include "engine/run_result.h"
#include "hw/copy/driver_calls.h"

namespace hoccl::hw {

/// Memory, and what keeps it mapped.
struct PinnedBytes {
  std::byte* data = nullptr;
  std::shared_ptr<const void> owner;
};

/// One copy with its memory found.
struct Copy {
  PinnedBytes source;
  PinnedBytes target;
  engine::Bytes size;
  engine::Leg leg = engine::Leg::kDirect;
  engine::ChunkTag tag;
};

/// The copy engines of one GPU: FIFO lanes, batches, cumulative completion. Used by one thread.
class CopyEngine {
 public:
  virtual ~CopyEngine() = default;
  /// Appends to the lane's open batch.
  virtual engine::Ticket post(engine::Lane lane, Copy copy) = 0;
  /// Hands over the open batches of all lanes.
  virtual void flush() = 0;
  /// What has completed since it was last asked, one lane at a time.
  virtual std::optional<engine::CopiesDone> poll() = 0;
  /// Something that was flushed will complete without a wake-up call.
  [[nodiscard]] virtual bool must_be_polled() const { return false; }
  /// From now on every copy is handed over on its own, or as many as were posted again. From any
  /// thread.
  virtual void hand_over_singly(bool /*singly*/) {}
  /// What a GPU's driver was asked for so far, by the thread that posts and polls; nothing where
  /// there is no driver.
  [[nodiscard]] virtual std::optional<engine::DriverUse> driver_use() const { return std::nullopt; }
  /// The single calls, by the same thread; null where there is no driver.
  [[nodiscard]] virtual const DriverCalls* driver_calls() const { return nullptr; }
  /// Everything that was flushed has completed.
  [[nodiscard]] virtual bool idle() const = 0;
};

}  // namespace hoccl::hw
