#include "engine/schedule/traffic_needs.h"

#include <algorithm>
#include <span>

namespace hoccl::engine {
namespace {

/// Adds up the needs of bytes that all have the same source and the same targets.
class Adder {
 public:
  Adder(TrafficNeeds& needs, const Topology& topology) : needs_(needs), topology_(topology) {}

  /// `targets` in order of their nodes, each once; may hold the source.
  void add(Rank source, Bytes size, std::span<const Rank> targets);

 private:
  void add_tiers(NodeId source, Bytes size, std::span<const Rank> targets);
  [[nodiscard]] std::size_t group_of(std::size_t tier, NodeId node) const {
    return node.index() / static_cast<std::size_t>(topology_.switch_tiers()[tier].nodes_per_switch);
  }

  TrafficNeeds& needs_;
  const Topology& topology_;
};

void Adder::add(Rank source, Bytes size, std::span<const Rank> targets) {
  const NodeId home = topology_.node_of(source);
  needs_.out[source.index()] += size;
  bool wanted_beside = false;  // by another rank of the source's node
  bool wanted_elsewhere = false;
  bool wanted_by_itself = false;
  for (std::size_t begin = 0; begin < targets.size();) {
    const NodeId node = topology_.node_of(targets[begin]);
    std::size_t end = begin + 1;
    while (end < targets.size() && topology_.node_of(targets[end]) == node) ++end;
    const auto here = targets.subspan(begin, end - begin);
    if (node == home) {
      wanted_by_itself = std::ranges::find(here, source) != here.end();
      wanted_beside = here.size() > (wanted_by_itself ? 1U : 0U);
    } else {
      wanted_elsewhere = true;
      needs_.enter[node.index()] += size;
      if (here.size() == 1) needs_.enter_alone[here.front().index()] += size;
    }
    begin = end;
  }
  if (wanted_elsewhere) {
    needs_.leave[home.index()] += size;
    if (!wanted_beside) needs_.leave_alone[source.index()] += size;
  }
  if (wanted_by_itself && !wanted_beside) needs_.keep_alone[source.index()] += size;
  add_tiers(home, size, targets);
}

void Adder::add_tiers(NodeId source, Bytes size, std::span<const Rank> targets) {
  for (std::size_t tier = 0; tier < needs_.up.size(); ++tier) {
    const std::size_t home = group_of(tier, source);
    bool leaves = false;
    std::size_t before = home;
    for (const Rank target : targets) {
      const std::size_t group = group_of(tier, topology_.node_of(target));
      // Targets are in order of nodes, so those of a group follow each other.
      if (group == home || group == before) continue;
      before = group;
      leaves = true;
      needs_.down[tier][group] += size;
    }
    if (leaves) needs_.up[tier][home] += size;
  }
}

/// Walks through one source's send buffer from one point where flows begin or end to the next.
void add_source(Adder& adder, const Topology& topology, std::vector<const Flow*> flows) {
  std::vector<Bytes> points;
  for (const Flow* flow : flows) {
    points.push_back(flow->source_offset);
    points.push_back(flow->source_offset + flow->size);
  }
  std::ranges::sort(points);
  points.erase(std::unique(points.begin(), points.end()), points.end());
  std::ranges::sort(flows, {}, &Flow::source_offset);
  const auto in_order_of_nodes = [&](Rank left, Rank right) {
    return std::pair(topology.node_of(left), left) < std::pair(topology.node_of(right), right);
  };

  std::vector<const Flow*> covering;
  std::vector<Rank> targets;
  auto next = flows.begin();
  for (std::size_t k = 0; k + 1 < points.size(); ++k) {
    std::erase_if(covering,
                  [&](const Flow* flow) { return flow->source_offset + flow->size <= points[k]; });
    while (next != flows.end() && (*next)->source_offset == points[k]) covering.push_back(*next++);
    if (covering.empty()) continue;
    targets.clear();
    for (const Flow* flow : covering) {
      targets.push_back(flow->target);
      targets.insert(targets.end(), flow->more_targets.begin(), flow->more_targets.end());
    }
    std::ranges::sort(targets, in_order_of_nodes);
    targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
    adder.add(flows.front()->source, points[k + 1] - points[k], targets);
  }
}

}  // namespace

TrafficNeeds::TrafficNeeds(const Pattern& pattern, const Topology& topology) {
  const auto ranks = static_cast<std::size_t>(topology.rank_count());
  const auto nodes = static_cast<std::size_t>(topology.node_count());
  for (auto* by_rank : {&out, &in, &leave_alone, &enter_alone, &keep_alone}) by_rank->resize(ranks);
  leave.resize(nodes);
  enter.resize(nodes);
  for (const SwitchTier& tier : topology.switch_tiers()) {
    const auto below = static_cast<std::size_t>(tier.nodes_per_switch);
    up.emplace_back((nodes + below - 1) / below);
    down.emplace_back((nodes + below - 1) / below);
  }
  std::vector<std::vector<const Flow*>> by_source(ranks);
  for (const Flow& flow : pattern.flows) {
    if (flow.size == Bytes(0)) continue;
    by_source[flow.source.index()].push_back(&flow);
    in[flow.target.index()] += flow.size;
    for (const Rank target : flow.more_targets) in[target.index()] += flow.size;
  }
  Adder adder(*this, topology);
  for (std::vector<const Flow*>& flows : by_source) {
    if (!flows.empty()) add_source(adder, topology, std::move(flows));
  }
}

}  // namespace hoccl::engine
