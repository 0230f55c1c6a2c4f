#pragma once

#include <mutex>

#include "engine/fabric.h"
#include "engine/trace/trace.h"

namespace hoccl::hw {

/// Records the legs of one rank, from any of its threads.
class LegTrace {
 public:
  explicit LegTrace(engine::Rank rank) : rank_(rank) {}

  /// Null: off.
  void record_into(engine::TraceSink* sink);
  [[nodiscard]] bool is_on();
  void copied(engine::Lane lane, engine::Leg leg, const engine::ChunkTag& tag, engine::Bytes size,
              engine::Seconds begin, engine::Seconds end);
  /// Ends when the last byte has left.
  void written(engine::NicId nic, const engine::ChunkTag& tag, engine::Bytes size,
               engine::Seconds begin, engine::Seconds end);

 private:
  void record(const engine::TraceEvent& event);

  const engine::Rank rank_;
  std::mutex mutex_;
  engine::TraceSink* sink_ = nullptr;
};

}  // namespace hoccl::hw
