#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "engine/base/ids.h"
#include "engine/schedule/compile.h"
#include "engine/schedule/demand.h"
#include "engine/schedule/plan.h"
#include "engine/schedule/rail_limits.h"
#include "engine/schedule/rail_map.h"
#include "engine/schedule/rail_spread.h"

namespace hoccl::engine {

/// Turns the flows of one tile (node to node) into transfers, stages still 0: between nodes spread
/// evenly over the rails, as far as their limits allow, inside a node direct, or relayed where a
/// rank is its own target.
class TileForwarding {
 public:
  TileForwarding(const RailMap& rails, const CompileOptions& options, RailLimits limits)
      : rails_(rails),
        options_(options),
        limits_(std::move(limits)),
        spread_(rails, options.chunk_size, options.rails) {}

  /// Ids that a tile of so many flows takes at most.
  [[nodiscard]] std::int64_t id_count(NodeId source, NodeId target, std::int32_t flows) const {
    return source == target ? flows : std::int64_t{flows} * rails_.pair_count(source, target);
  }

  /// Appends the transfers, with ids from `first` on. Throws ConfigError when a flow cannot be
  /// carried.
  void append(NodeId source, NodeId target, std::span<const PairFlow> flows, FlowId first,
              std::vector<Transfer>& transfers);

 private:
  void append_local(std::span<const PairFlow> flows, FlowId first,
                    std::vector<Transfer>& transfers) const;
  void gather(NodeId source, NodeId target, std::span<const PairFlow> flows);
  void require_path(NodeId source, NodeId target, const PairFlow& flow,
                    const RailDemand& demand) const;

  const RailMap& rails_;
  const CompileOptions& options_;
  RailLimits limits_;
  RailSpread spread_;
  std::vector<RailDemand> demands_;  // of the tile at hand
};

}  // namespace hoccl::engine
