#pragma once

#include <vector>

#include "engine/fabric.h"
#include "engine/trace/trace.h"
#include "sim/calibration/calibration.h"
#include "sim/machine/copy_engine.h"

namespace hoccl::sim {

/// A copy engine of one device with the lanes of all ranks on that device, and their trace.
class SimCopyEngine : public CopyObserver {
 public:
  SimCopyEngine(Clock& clock, Network& network, const CopyEngineConstants& constants,
                engine::TraceSink* trace);

  LaneId add_lane(const engine::Track& track);
  void submit(LaneId lane, std::span<const Copy> batch) { engine_.submit(lane, batch); }

  [[nodiscard]] bool is_traced() const { return trace_ != nullptr; }
  /// The tag under which the trace finds a copy's chunk; only when traced.
  std::uint64_t tag(const engine::CopyRequest& request);

  void copied(const CopyInterval& interval) override;

  [[nodiscard]] engine::Seconds busy_time() const { return engine_.busy_time(); }

 private:
  struct Tagged {
    engine::ChunkTag chunk;
    engine::Leg leg = engine::Leg::kDirect;
  };

  CopyEngine engine_;
  engine::TraceSink* trace_;
  std::vector<engine::Track> tracks_;  ///< by lane
  std::vector<Tagged> tags_;
  std::vector<std::uint64_t> free_tags_;
};

}  // namespace hoccl::sim
