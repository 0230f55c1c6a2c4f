#include "engine/schedule/relay_choice.h"

#include <algorithm>
#include <numeric>

namespace hoccl::engine {
namespace {

/// "Clearly more" than the others: times their mean. Shares that are equal but for rounding, or one
/// flow more or less, must not change the shape of the plan.
constexpr double kClearlyMore = 1.5;
/// A hub that gets less than that from every rail adds a hop without spreading the load.
constexpr std::int64_t kChunksPerRail = 2;
/// Bounds the number of transfers, which grows with hubs times nodes. A node's NICs then send one
/// copy and a sixteenth at most of what they would send to all.
constexpr std::int64_t kMostHubs = 16;

double stage_ins(const Multicast& multicast, const CompileOptions& options) {
  const auto nodes = static_cast<int>(multicast.remote.size());
  return (nodes + options.nodes_per_stage_in - 1) / options.nodes_per_stage_in;
}

}  // namespace

RelayChoice::RelayChoice(const RailMap& rails, const CompileOptions& options,
                         const std::vector<Multicast>& multicasts)
    : rails_(rails), options_(options) {
  const Topology& topology = rails.topology();
  const auto nodes = static_cast<std::size_t>(topology.node_count());
  pushed_by_rank_.resize(static_cast<std::size_t>(topology.rank_count()), 0.0);
  std::vector<bool> takes_part(pushed_by_rank_.size(), false);
  std::vector<bool> node_takes_part(nodes, false);
  sent_by_node_.resize(nodes, 0.0);
  for (const Multicast& multicast : multicasts) {
    const auto size = static_cast<double>(multicast.size.count());
    const auto local = static_cast<double>(multicast.local.size());
    pushed_by_rank_[multicast.source.index()] += size * (local + stage_ins(multicast, options));
    takes_part[multicast.source.index()] = true;
    for (const Rank target : multicast.local) takes_part[target.index()] = true;
    sent_by_node_[multicast.node.index()] += size * static_cast<double>(multicast.remote.size());
    node_takes_part[multicast.node.index()] = true;
    for (const NodeTargets& targets : multicast.remote)
      node_takes_part[targets.node.index()] = true;
  }
  mean_push_.resize(nodes, 0.0);
  for (std::size_t i = 0; i < nodes; ++i) {
    double sum = 0;
    int count = 0;
    for (const Rank rank : topology.ranks_of(NodeId(i))) {
      if (!takes_part[rank.index()]) continue;
      sum += pushed_by_rank_[rank.index()];
      ++count;
    }
    mean_push_[i] = count == 0 ? 0.0 : sum / count;
  }
  const auto taking_part = std::ranges::count(node_takes_part, true);
  if (taking_part > 0) {
    mean_sent_ = std::accumulate(sent_by_node_.begin(), sent_by_node_.end(), 0.0) /
                 static_cast<double>(taking_part);
  }
}

bool RelayChoice::exchange(const Multicast& multicast) const {
  const auto local = static_cast<std::int64_t>(multicast.local.size());
  // With one local target there is nobody to pass on to; with less than a chunk for each, passing
  // on is an extra hop without gain.
  if (local < 2 || chunk_count(multicast.size, options_.chunk_size) < local) return false;
  return pushed_by_rank_[multicast.source.index()] >
         kClearlyMore * mean_push_[multicast.node.index()];
}

std::size_t RelayChoice::hubs(const Multicast& multicast) const {
  const Topology& topology = rails_.topology();
  const auto nodes = static_cast<std::int64_t>(multicast.remote.size());
  if (nodes < 2 || sent_by_node_[multicast.node.index()] <= kClearlyMore * mean_sent_) return 0;
  const bool peers_stage = topology.staging() == StagingKind::kPeer;
  for (const NodeTargets& targets : multicast.remote) {
    // One hosts the slots that arrive, another may host those that leave.
    if (peers_stage && targets.ranks.size() < 3) return 0;
  }
  const int rails = rails_.pair_count(multicast.node, multicast.remote.front().node);
  const std::int64_t chunks = chunk_count(multicast.size, options_.chunk_size);
  const std::int64_t hubs = std::min({nodes, kMostHubs, chunks / (kChunksPerRail * rails)});
  return hubs < 2 ? 0 : static_cast<std::size_t>(hubs);
}

}  // namespace hoccl::engine
