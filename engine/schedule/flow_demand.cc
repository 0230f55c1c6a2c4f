#include "engine/schedule/flow_demand.h"

#include <algorithm>
#include <tuple>

namespace hoccl::engine {

FlowDemand::FlowDemand(std::vector<PairFlow> flows, const Topology& topology,
                       std::optional<NodeId> node)
    : Demand(topology.node_count()) {
  std::vector<std::size_t> tiles;
  tiles.reserve(flows.size());
  begins_.assign(flow_counts_.size() + 1, 0);
  const auto detailed = [&](NodeId source, NodeId target) {
    return !node || source == *node || target == *node;
  };
  for (const PairFlow& flow : flows) {
    const NodeId source = topology.node_of(flow.source);
    const NodeId target = topology.node_of(flow.target);
    tiles.push_back(tile(source, target));
    bytes_(source.value(), target.value()) += flow.size.count();
    ++flow_counts_[tiles.back()];
    if (detailed(source, target)) ++begins_[tiles.back() + 1];
  }
  for (std::size_t i = 1; i < begins_.size(); ++i) begins_[i] += begins_[i - 1];
  flows_.resize(begins_.back());
  std::vector<std::size_t> next(begins_.begin(), begins_.end() - 1);
  for (std::size_t i = 0; i < flows.size(); ++i) {
    // Tiles without detail have no room.
    if (begins_[tiles[i]] < begins_[tiles[i] + 1]) flows_[next[tiles[i]]++] = flows[i];
  }
  for (std::size_t i = 0; i + 1 < begins_.size(); ++i) {
    std::stable_sort(flows_.begin() + static_cast<std::ptrdiff_t>(begins_[i]),
                     flows_.begin() + static_cast<std::ptrdiff_t>(begins_[i + 1]),
                     [](const PairFlow& left, const PairFlow& right) {
                       return std::tuple(left.source, left.target, left.source_offset) <
                              std::tuple(right.source, right.target, right.source_offset);
                     });
  }
}

std::span<const PairFlow> FlowDemand::flows_of(NodeId source, NodeId target) {
  const std::size_t index = tile(source, target);
  return std::span(flows_).subspan(begins_[index], begins_[index + 1] - begins_[index]);
}

}  // namespace hoccl::engine
