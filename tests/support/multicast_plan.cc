#include "tests/support/multicast_plan.h"

#include <algorithm>
#include <utility>

#include "engine/pattern/pattern.h"

namespace hoccl::engine {
namespace {

Plan unicast_plan(const Topology& topology, Rank source, Rank target, Bytes size,
                  const CompileOptions& options) {
  return compile(make_pattern({"sendrecv", source, target, size}, topology.rank_count()), topology,
                 options);
}

}  // namespace

Plan multicast_plan(const Topology& topology, Rank source, std::vector<Rank> targets, Bytes size,
                    const CompileOptions& options) {
  Plan plan = unicast_plan(topology, source, targets.front(), size, options);
  plan.pattern = "multicast";
  targets.erase(targets.begin());
  std::ranges::sort(targets);
  for (Transfer& transfer : plan.transfers) transfer.more_targets = targets;
  return plan;
}

std::vector<Rank> possible_further_targets(const Topology& topology, Rank source, Rank target,
                                           Bytes size, const CompileOptions& options) {
  if (topology.node_of(source) == topology.node_of(target)) return {};
  const auto local = topology.ranks_of(topology.node_of(target));
  std::vector<Rank> possible(local.begin(), local.end());
  std::erase(possible, target);
  for (const Transfer& transfer : unicast_plan(topology, source, target, size, options).transfers) {
    const PlaceId place = topology.place_of(transfer.receive_nic);
    std::erase_if(possible,
                  [&](Rank rank) { return topology.gpu_of(rank) == topology.gpu_of(place); });
  }
  return possible;
}

}  // namespace hoccl::engine
