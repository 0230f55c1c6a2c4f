#pragma once

#include <functional>
#include <optional>

#include "engine/fabric.h"
#include "hw/node/buffer_registry.h"

namespace hoccl::hw {

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
  /// Everything that was flushed has completed.
  [[nodiscard]] virtual bool idle() const = 0;
};

}  // namespace hoccl::hw
