#pragma once

#include <vector>

#include "engine/fabric.h"
#include "sim/fabric/world.h"
#include "sim/machine/copy_engine.h"

namespace hoccl::sim {

/// One lane of a port: the open batch, and what was flushed but not yet launched by the CPU.
class SimLane {
 public:
  SimLane(World& world, SimPort& port, engine::Lane lane);
  SimLane(const SimLane&) = delete;
  SimLane& operator=(const SimLane&) = delete;

  engine::Ticket post(const engine::CopyRequest& request);
  [[nodiscard]] bool has_open_batch() const { return !batches_[open_].copies.empty(); }
  /// Hands the open batch over; charges the CPU.
  void flush();
  /// The port's proxy was told of one more batch.
  void told() { --untold_; }
  /// Batches were handed over of which it was not told yet: the driver is asked about the first.
  [[nodiscard]] bool is_busy() const { return untold_ > 0; }

 private:
  struct Batch {
    std::vector<Copy> copies;
    int source_leg_count = 0;  ///< copies that are the source's own: stage-in and direct
  };

  [[nodiscard]] RouteId route_of(const engine::CopyRequest& request);
  /// A call of the driver for this batch.
  void charge(const Batch& batch, engine::Seconds cost);
  void launch(std::uint64_t batch);
  void done(std::uint64_t ticket);
  std::size_t take_batch();

  World& world_;
  SimPort& port_;
  engine::Lane lane_;
  SimCopyEngine& engine_;
  LaneId id_;
  std::int64_t last_ticket_ = 0;
  int untold_ = 0;              ///< batches whose end the proxy does not know of
  std::vector<Batch> batches_;  ///< recycled
  std::vector<std::size_t> free_batches_;
  std::size_t open_ = 0;
  // Most copies of a lane take the route of the one before.
  engine::PlaceId route_source_;
  engine::PlaceId route_target_;
  RouteId route_;
};

}  // namespace hoccl::sim
