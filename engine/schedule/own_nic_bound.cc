#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "engine/base/check.h"
#include "engine/schedule/bounds.h"
#include "engine/schedule/load_bound.h"
#include "engine/schedule/longest.h"
#include "engine/schedule/port_rates.h"
#include "engine/schedule/traffic_needs.h"
#include "engine/topology/rail_relay.h"

namespace hoccl::engine {
namespace {

/// The NICs that a rank's messages use: all next to its GPU, or else the first of its node.
std::span<const NicId> nics_beside(const Topology& topology, Rank rank) {
  const auto own = topology.nics_of(topology.gpu_of(rank));
  const auto local = topology.nics_of(topology.node_of(rank));
  HOCCL_CHECK(!local.empty(), "node {} without a NIC", topology.node_of(rank));
  return own.empty() ? local.first(1) : own;
}

/// What messages load for sure when each goes straight from the one end's NICs to the other's.
class MessageLoads {
 public:
  MessageLoads(const Pattern& pattern, const Topology& topology, bool relayed)
      : topology_(topology),
        relayed_(relayed),
        ports_(topology),
        out_(static_cast<std::size_t>(topology.gpu_count())),
        in_(out_.size()) {
    for (const Flow& flow : pattern.flows) add(flow);
  }

  [[nodiscard]] Bound bound(const Rates& rates) const;

 private:
  void add(const Flow& flow);
  void add_switches(std::span<const NicId> send, std::span<const NicId> receive, Bytes size);
  [[nodiscard]] bool meet_under_one(int tier, std::span<const NicId> nics) const {
    return std::ranges::all_of(nics, [&](NicId nic) {
      return topology_.switch_of(tier, nic) == topology_.switch_of(tier, nics.front());
    });
  }
  Bytes& of(std::vector<Bytes>& by_device, NicId nic) const {
    return by_device[static_cast<std::size_t>(topology_.gpu(topology_.nic(nic).gpu).physical)];
  }

  const Topology& topology_;
  bool relayed_;
  PortLoads ports_;
  // By GPU: all NICs next to it together.
  std::vector<Bytes> out_;
  std::vector<Bytes> in_;
};

void MessageLoads::add(const Flow& flow) {
  if (flow.source == flow.target) return;
  if (topology_.node_of(flow.source) == topology_.node_of(flow.target)) {
    ports_.nvlink_out[topology_.gpu_of(flow.source).index()] += flow.size;
    ports_.nvlink_in[topology_.gpu_of(flow.target).index()] += flow.size;
    return;
  }
  const Rank sender = relayed_ ? rail_relay(topology_, flow.source, flow.target) : flow.source;
  if (sender != flow.source) {
    ports_.nvlink_out[topology_.gpu_of(flow.source).index()] += flow.size;
    ports_.nvlink_in[topology_.gpu_of(sender).index()] += flow.size;
  }
  const std::span<const NicId> send = nics_beside(topology_, sender);
  const std::span<const NicId> receive = nics_beside(topology_, flow.target);
  out_[topology_.nic(send.front()).gpu.index()] += flow.size;
  in_[topology_.nic(receive.front()).gpu.index()] += flow.size;
  if (send.size() == 1 && receive.size() == 1) {
    return add_wire(ports_, topology_, send.front(), receive.front(), flow.size);
  }
  if (send.size() == 1) ports_.nic_out[send.front().index()] += flow.size;
  if (receive.size() == 1) ports_.nic_in[receive.front().index()] += flow.size;
  if (topology_.wire_shares_pcie() && topology_.staging() == StagingKind::kPeer) {
    of(ports_.pcie_out, send.front()) += flow.size;
    of(ports_.pcie_in, receive.front()) += flow.size;
  }
  add_switches(send, receive, flow.size);
}

/// Only what the message crosses whichever of its NICs carry it.
void MessageLoads::add_switches(std::span<const NicId> send, std::span<const NicId> receive,
                                Bytes size) {
  int meeting = static_cast<int>(topology_.switch_tiers().size());
  for (const NicId from : send) {
    for (const NicId to : receive) meeting = std::min(meeting, topology_.meeting_tier(from, to));
  }
  for (int tier = 0; tier < meeting; ++tier) {
    const auto level = static_cast<std::size_t>(tier);
    const auto switch_above = [&](std::span<const NicId> nics) {
      return static_cast<std::size_t>(topology_.switch_of(tier, nics.front()));
    };
    if (meet_under_one(tier, send)) ports_.switch_up[level][switch_above(send)] += size;
    if (meet_under_one(tier, receive)) ports_.switch_down[level][switch_above(receive)] += size;
  }
}

Bound MessageLoads::bound(const Rates& rates) const {
  const PortRates ports(topology_, rates);
  Longest longest;
  consider_gpus(longest, ports_, ports);
  consider_network(longest, ports_, topology_, ports);
  for (std::size_t i = 0; i < out_.size(); ++i) {
    const GpuId gpu(i);
    // Of one NIC it is said above.
    if (topology_.nics_of(gpu).size() < 2) continue;
    longest.consider(out_[i], ports.nics_of(gpu), "NICs of GPU {}, sending", gpu);
    longest.consider(in_[i], ports.nics_of(gpu), "NICs of GPU {}, receiving", gpu);
  }
  return longest.bound();
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

Bound message_bound(const Pattern& pattern, const Topology& topology, const Rates& rates,
                    bool relayed) {
  HOCCL_CHECK(pattern.rank_count == topology.rank_count(), "pattern of {} ranks on {}",
              pattern.rank_count, topology.rank_count());
  const bool shared = std::ranges::any_of(
      pattern.flows, [](const Flow& flow) { return !flow.more_targets.empty(); });
  if (shared) return shared_bound(pattern, topology, rates);
  return MessageLoads(pattern, topology, relayed).bound(rates);
}

}  // namespace

Bound own_nic_bound(const Pattern& pattern, const Topology& topology, const Rates& rates) {
  return message_bound(pattern, topology, rates, false);
}

Bound rail_relay_bound(const Pattern& pattern, const Topology& topology, const Rates& rates) {
  return message_bound(pattern, topology, rates, true);
}

}  // namespace hoccl::engine
