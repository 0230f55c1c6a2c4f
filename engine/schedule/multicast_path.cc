#include "engine/schedule/multicast_path.h"

#include <algorithm>

#include "engine/schedule/rail_spread.h"

namespace hoccl::engine {
namespace {

/// A lone target must be able to pull; of several, one passes on to the one that cannot.
int target_gpu(const RailMap& rails, const NodeTargets& targets) {
  return targets.ranks.size() == 1 ? rails.gpu_of(targets.ranks.front()) : kNoGpu;
}

}  // namespace

Rank counterpart(const RailMap& rails, Rank source, const NodeTargets& targets) {
  const auto found = std::ranges::find(targets.ranks, rails.index_of(source),
                                       [&](Rank rank) { return rails.index_of(rank); });
  return found == targets.ranks.end() ? targets.ranks.front() : *found;
}

RailDemand demand_of(const RailMap& rails, const Multicast& multicast, const NodeTargets& targets,
                     int turn) {
  const int count = rails.pair_count(multicast.node, targets.node);
  const int index = rails.index_of(multicast.source);
  const bool host = rails.topology().staging() == StagingKind::kHost;
  return {.size = multicast.size,
          .source_gpu = rails.gpu_of(multicast.source),
          .target_gpu = target_gpu(rails, targets),
          .preferred = host ? index % count
                            : preferred_rail(index, index, count, preferred_step(count, turn))};
}

}  // namespace hoccl::engine
