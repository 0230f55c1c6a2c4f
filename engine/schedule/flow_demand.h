#pragma once

#include <optional>
#include <span>
#include <vector>

#include "engine/base/ids.h"
#include "engine/schedule/demand.h"
#include "engine/schedule/rail_map.h"

namespace hoccl::engine {

/// Demand of listed flows. Given a node, it keeps the detail of that node's tiles only.
class FlowDemand : public Demand {
 public:
  /// The map must outlive this.
  FlowDemand(const RailMap& rails, std::optional<NodeId> node);

  /// Not after the first flows_of().
  void add(const PairFlow& flow);

  [[nodiscard]] std::span<const PairFlow> flows_of(NodeId source, NodeId target) override;

 private:
  void sort();

  const RailMap& rails_;
  std::optional<NodeId> node_;
  std::vector<PairFlow> flows_;      // once sorted, by tile
  std::vector<std::size_t> begins_;  // by tile, and the end; empty until sorted
};

}  // namespace hoccl::engine
