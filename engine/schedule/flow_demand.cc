#include "engine/schedule/flow_demand.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "engine/base/check.h"

namespace hoccl::engine {

FlowDemand::FlowDemand(const RailMap& rails, std::optional<NodeId> node)
    : Demand(rails.topology().node_count(), rails.topology().rank_count()),
      rails_(rails),
      node_(node) {}

void FlowDemand::add(const PairFlow& flow) {
  HOCCL_CHECK(begins_.empty(), "a flow after the first question, from rank {}", flow.source);
  const NodeId source = rails_.node_of(flow.source);
  const NodeId target = rails_.node_of(flow.target);
  bytes_(source.value(), target.value()) += flow.size.count();
  ++flow_counts_[tile(source, target)];
  sent_[flow.source.index()] += flow.size.count();
  received_[flow.target.index()] += flow.size.count();
  if (!node_ || source == *node_ || target == *node_) flows_.push_back(flow);
}

void FlowDemand::sort() {
  const auto tile_of = [&](const PairFlow& flow) {
    return tile(rails_.node_of(flow.source), rails_.node_of(flow.target));
  };
  begins_.assign(flow_counts_.size() + 1, 0);
  for (const PairFlow& flow : flows_) ++begins_[tile_of(flow) + 1];
  for (std::size_t i = 1; i < begins_.size(); ++i) begins_[i] += begins_[i - 1];
  std::vector<PairFlow> sorted(flows_.size());
  std::vector<std::size_t> next(begins_.begin(), begins_.end() - 1);
  for (const PairFlow& flow : flows_) sorted[next[tile_of(flow)]++] = flow;
  flows_ = std::move(sorted);
  for (std::size_t i = 0; i + 1 < begins_.size(); ++i) {
    std::ranges::stable_sort(std::span(flows_).subspan(begins_[i], begins_[i + 1] - begins_[i]), {},
                             [](const PairFlow& flow) {
                               return std::tuple(flow.source, flow.target, flow.source_offset);
                             });
  }
}

std::span<const PairFlow> FlowDemand::flows_of(NodeId source, NodeId target) {
  if (begins_.empty()) sort();
  const std::size_t index = tile(source, target);
  return std::span(flows_).subspan(begins_[index], begins_[index + 1] - begins_[index]);
}

}  // namespace hoccl::engine
