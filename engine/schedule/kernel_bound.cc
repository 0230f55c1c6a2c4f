#include <algorithm>

#include "engine/base/check.h"
#include "engine/schedule/bounds.h"
#include "engine/schedule/longest.h"
#include "engine/schedule/port_rates.h"
#include "engine/schedule/traffic_needs.h"

namespace hoccl::engine {
namespace {

NicId nearest_nic(const Topology& topology, Rank rank) {
  const auto own = topology.nics_of(topology.gpu_of(rank));
  const auto local = topology.nics_of(topology.node_of(rank));
  HOCCL_CHECK(!local.empty(), "node {} without a NIC", topology.node_of(rank));
  return own.empty() ? local.front() : own.front();
}

/// Each message on its own.
PortLoads message_loads(const Pattern& pattern, const Topology& topology) {
  PortLoads loads(topology);
  for (const Flow& flow : pattern.flows) {
    if (flow.source == flow.target) continue;
    if (topology.node_of(flow.source) == topology.node_of(flow.target)) {
      loads.nvlink_out[topology.gpu_of(flow.source).index()] += flow.size;
      loads.nvlink_in[topology.gpu_of(flow.target).index()] += flow.size;
    } else {
      add_wire(loads, topology, nearest_nic(topology, flow.source),
               nearest_nic(topology, flow.target), flow.size);
    }
  }
  return loads;
}

/// Whoever has bytes may pass them on, by NVLink or straight through the NICs beside its GPU.
Bound shared_bound(Pattern pattern, const Topology& topology, const Rates& rates) {
  std::erase_if(pattern.flows, [](const Flow& flow) { return flow.source == flow.target; });
  const PortRates ports(topology, rates);
  const TrafficNeeds needs(pattern, topology);
  Longest longest;
  for (std::size_t rank = 0; rank < needs.out.size(); ++rank) {
    const GpuId gpu = topology.gpu_of(Rank(rank));
    const BytesPerSecond nics = ports.nics_of(gpu);
    longest.consider(needs.out[rank], ports.nvlink_out() + nics, "NVLink and NICs out of GPU {}",
                     gpu);
    longest.consider(needs.in[rank], ports.nvlink_in() + nics, "NVLink and NICs into GPU {}", gpu);
  }
  for (std::size_t node = 0; node < needs.leave.size(); ++node) {
    const BytesPerSecond rate = ports.nics_of(NodeId(node));
    longest.consider(needs.leave[node], rate, "NICs of node {}, sending", node);
    longest.consider(needs.enter[node], rate, "NICs of node {}, receiving", node);
  }
  return longest.bound();
}

}  // namespace

Bound bound_for_kernel_copies(const Pattern& pattern, const Topology& topology,
                              const Rates& rates) {
  HOCCL_CHECK(pattern.rank_count == topology.rank_count(), "pattern of {} ranks on {}",
              pattern.rank_count, topology.rank_count());
  const bool shared = std::ranges::any_of(
      pattern.flows, [](const Flow& flow) { return !flow.more_targets.empty(); });
  if (shared) return shared_bound(pattern, topology, rates);
  return bound_of(message_loads(pattern, topology), topology, rates);
}

}  // namespace hoccl::engine
