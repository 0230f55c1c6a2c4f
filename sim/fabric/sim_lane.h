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
  /// The port's proxy was told of one more batch. True if none is under way any more.
  bool told() { return --untold_batches_ == 0; }

 private:
  struct Batch {
    std::vector<Copy> copies;
    int source_leg_count = 0;  ///< copies that are the source's own: stage-in and direct
  };

  [[nodiscard]] RouteId route_of(const engine::CopyRequest& request);
  void charge(const Batch& batch);
  void launch(std::uint64_t batch);
  void done(std::uint64_t ticket);
  std::size_t take_batch();

  World& world_;
  SimPort& port_;
  engine::Lane lane_;
  SimCopyEngine& engine_;
  LaneId id_;
  std::int64_t last_ticket_ = 0;
  int untold_batches_ = 0;      ///< flushed, and the proxy does not know of their end
  std::vector<Batch> batches_;  ///< recycled
  std::vector<std::size_t> free_batches_;
  std::size_t open_ = 0;
  // Most copies of a lane take the route of the one before.
  engine::PlaceId route_source_;
  engine::PlaceId route_target_;
  RouteId route_;
};

}  // namespace hoccl::sim
