#pragma once

#include <optional>
#include <span>
#include <vector>

#include "engine/base/ids.h"
#include "engine/schedule/demand.h"
#include "engine/topology/topology.h"

namespace hoccl::engine {

/// Demand of listed flows. Given a node, it keeps the detail of that node's tiles only.
class FlowDemand : public Demand {
 public:
  FlowDemand(std::vector<PairFlow> flows, const Topology& topology, std::optional<NodeId> node);

  [[nodiscard]] std::span<const PairFlow> flows_of(NodeId source, NodeId target) override;

 private:
  std::vector<PairFlow> flows_;       // by tile
  std::vector<std::size_t> begins_;  // by tile, and the end
};

}  // namespace hoccl::engine
