#include "engine/schedule/multicast.h"

#include <algorithm>
#include <utility>

namespace hoccl::engine {

Multicast multicast_of(const Flow& flow, const RailMap& rails) {
  Multicast result{.source = flow.source,
                   .source_offset = flow.source_offset,
                   .target_offset = flow.target_offset,
                   .size = flow.size,
                   .flow_class = flow.flow_class,
                   .node = rails.node_of(flow.source),
                   .local = {},
                   .remote = {},
                   .give_back = false};
  const int nodes = rails.topology().node_count();
  std::vector<std::vector<Rank>> by_node(static_cast<std::size_t>(nodes));
  for (const Rank target : targets_of(flow))
    by_node[rails.node_of(target).index()].push_back(target);
  for (auto& ranks : by_node) std::ranges::sort(ranks);
  result.local = std::move(by_node[result.node.index()]);
  const auto after = std::ranges::upper_bound(result.local, flow.source);
  std::rotate(result.local.begin(), after, result.local.end());
  for (int step = 1; step < nodes; ++step) {
    const NodeId node((result.node.value() + step) % nodes);
    if (by_node[node.index()].empty()) continue;
    result.remote.push_back({node, std::move(by_node[node.index()])});
  }
  return result;
}

bool is_own_share_of(const Flow& flow, const Multicast& multicast) {
  return flow.source == flow.target && flow.more_targets.empty() &&
         flow.source == multicast.source && flow.source_offset == multicast.source_offset &&
         flow.target_offset == multicast.target_offset && flow.size == multicast.size &&
         flow.flow_class == multicast.flow_class;
}

}  // namespace hoccl::engine
