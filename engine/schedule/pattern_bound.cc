// Lower bounds from the pattern alone. In formulas V is NVLink and B a NIC per direction, g the
// GPUs of a node. Each is a number of bytes that must cross a set of ports whatever the plan, over
// what that set carries:
// - A target's bytes enter its GPU, and a source's distinct bytes leave its GPU: over V, for no leg
//   is within a GPU. From or to host memory they may use PCIe as well.
// - What a node's ranks want from elsewhere enters once through its NICs, and what others want of
//   its ranks leaves once: over g B. Bytes of rank s that no other rank of its node gets are staged
//   by s itself, hence not in its own GPU: over the NICs of the others. So with targets.
// - What crosses the NICs crosses NVLink once more, into the GPU that it is staged in or out of the
//   one that it landed in: worst_cut, over all sets of GPUs of the node.
// - Whoever pushes or pulls executes the copy: a source its bytes' first leg, a target the pull of
//   those that nobody on its node can push to it.
// - With R rails, a message of S bytes from one rank to one other on another node: S / (R B).
#include <algorithm>
#include <functional>

#include "engine/base/check.h"
#include "engine/base/config_error.h"
#include "engine/schedule/bounds.h"
#include "engine/schedule/forwarding.h"
#include "engine/schedule/load_bound.h"
#include "engine/schedule/longest.h"
#include "engine/schedule/node_cut.h"
#include "engine/schedule/port_rates.h"
#include "engine/schedule/traffic_needs.h"

namespace hoccl::engine {
namespace {

bool is_local(const Topology& topology, Rank source, Rank target) {
  return topology.node_of(source) == topology.node_of(target);
}

/// Whether a rank's own share can leave its GPU at all.
void require_relay(const Topology& topology, Rank rank) {
  const GpuId own = topology.gpu_of(rank);
  if (topology.staging() == StagingKind::kHost) return;
  if (topology.gpus_of(topology.gpu(own).node).size() > 1) return;
  throw ConfigError(
      fmt::format("topology '{}': node {} has 1 GPU: expected another one, that the own share of "
                  "rank {} can go through, or an operation in place",
                  topology.name(), topology.gpu(own).node, rank));
}

/// Refuses what no plan could carry; each end point is looked at once.
void require_paths(const Pattern& pattern, const Topology& topology) {
  std::vector<bool> sends(static_cast<std::size_t>(topology.rank_count()), false);
  std::vector<bool> receives = sends;
  for (const Flow& flow : pattern.flows) {
    if (flow.size == Bytes(0)) continue;
    if (flow.source == flow.target) {
      require_relay(topology, flow.source);
    } else if (!is_local(topology, flow.source, flow.target) &&
               !(sends[flow.source.index()] && receives[flow.target.index()])) {
      // Called for its refusal.
      static_cast<void>(candidate_pairs(topology, flow.source, flow.target));
      sends[flow.source.index()] = receives[flow.target.index()] = true;
    }
  }
}

class PatternBound {
 public:
  PatternBound(const Pattern& pattern, const Topology& topology, const Rates& rates)
      : pattern_(pattern),
        topology_(topology),
        ports_(topology, rates),
        needs_(pattern, topology) {}

  Bound bound(int rails);
  Bound balanced();

 private:
  [[nodiscard]] PortLoads end_point_loads() const;
  void consider_shared_ports();
  void consider_rails(int rails);
  void consider_nodes();
  void consider_cuts(NodeId node);
  void consider_cut(const NodeCut& cut, std::string_view direction, NodeId node, Rank except);
  void consider_tiers();
  [[nodiscard]] bool in_peers() const { return topology_.staging() == StagingKind::kPeer; }

  const Pattern& pattern_;
  const Topology& topology_;
  PortRates ports_;
  TrafficNeeds needs_;
  Longest longest_;
};

PortLoads PatternBound::end_point_loads() const {
  PortLoads loads(topology_);
  for (std::size_t rank = 0; rank < needs_.out.size(); ++rank) {
    const GpuId gpu = topology_.gpu_of(Rank(rank));
    const auto device = static_cast<std::size_t>(topology_.gpu(gpu).physical);
    const auto copied = [&](CopyClass copy_class) -> Bytes& {
      return loads.copied[device][static_cast<std::size_t>(copy_class)];
    };
    const Bytes pushed_alone = needs_.leave_alone[rank] + needs_.keep_alone[rank];
    const Bytes pulled_alone = needs_.enter_alone[rank] + needs_.keep_alone[rank];
    switch (topology_.staging()) {
      case StagingKind::kPeer:
        loads.nvlink_out[gpu.index()] += needs_.out[rank];
        loads.nvlink_in[gpu.index()] += needs_.in[rank];
        copied(CopyClass::kPeer) += needs_.out[rank] + pulled_alone;
        break;
      case StagingKind::kHost:
        loads.pcie_out[device] += pushed_alone;
        loads.pcie_in[device] += pulled_alone;
        copied(CopyClass::kDeviceToHost) += pushed_alone;
        copied(CopyClass::kHostToDevice) += pulled_alone;
        break;
    }
  }
  return loads;
}

/// From and to host memory a GPU's own bytes may use NVLink and PCIe.
void PatternBound::consider_shared_ports() {
  if (in_peers()) return;
  const BytesPerSecond out = ports_.nvlink_out() + ports_.pcie_one_way();
  const BytesPerSecond in = ports_.nvlink_in() + ports_.pcie_one_way();
  for (std::size_t rank = 0; rank < needs_.out.size(); ++rank) {
    const GpuId gpu = topology_.gpu_of(Rank(rank));
    longest_.consider(needs_.out[rank], out, "NVLink and PCIe out of GPU {}", gpu);
    longest_.consider(needs_.in[rank], in, "NVLink and PCIe into GPU {}", gpu);
  }
}

void PatternBound::consider_rails(int rails) {
  // Rates of the NICs that can stage for a rank, fastest first; filled when asked for.
  std::vector<std::vector<BytesPerSecond>> usable(needs_.out.size());
  const auto rates_of = [&](Rank rank) -> const std::vector<BytesPerSecond>& {
    auto& rates = usable[rank.index()];
    if (!rates.empty()) return rates;
    for (const NicId nic : staging_nics(topology_, topology_.gpu_of(rank))) {
      rates.push_back(ports_.nic(nic));
    }
    std::ranges::sort(rates, std::greater<>());
    return rates;
  };
  for (const Flow& flow : pattern_.flows) {
    if (!flow.more_targets.empty() || is_local(topology_, flow.source, flow.target)) continue;
    const auto& source = rates_of(flow.source);
    const auto& target = rates_of(flow.target);
    const std::size_t used =
        std::min({static_cast<std::size_t>(rails), source.size(), target.size()});
    const auto together = [&](const std::vector<BytesPerSecond>& rates) {
      BytesPerSecond sum(0.0);
      for (std::size_t i = 0; i < used; ++i) sum = sum + rates[i];
      return sum;
    };
    longest_.consider(flow.size, std::min(together(source), together(target)),
                      "{} NIC pair(s) from rank {} to rank {}", used, flow.source, flow.target);
  }
}

void PatternBound::consider_nodes() {
  for (std::size_t node = 0; node < needs_.leave.size(); ++node) {
    const BytesPerSecond rate = ports_.nics_of(NodeId(node));
    longest_.consider(needs_.leave[node], rate, "NICs of node {}, sending", node);
    longest_.consider(needs_.enter[node], rate, "NICs of node {}, receiving", node);
  }
  if (!in_peers()) return;
  for (std::size_t node = 0; node < needs_.leave.size(); ++node) consider_cuts(NodeId(node));
}

void PatternBound::consider_cuts(NodeId node) {
  // GPUs without a rank can relay too.
  const auto gpus = topology_.gpus_of(node);
  const auto ports_but = [&](const std::vector<Bytes>& own, GpuId except) {
    std::vector<RelayPort> ports;
    for (const GpuId gpu : gpus) {
      if (gpu == except) continue;
      const std::optional<Rank> rank = topology_.rank_on(gpu);
      ports.push_back({rank ? own[rank->index()] : Bytes(0), ports_.nics_of(gpu)});
    }
    return ports;
  };
  const auto cuts = [&](std::string_view direction, Bytes relayed, const std::vector<Bytes>& own,
                        const std::vector<Bytes>& alone, BytesPerSecond nvlink) {
    consider_cut(worst_cut(relayed, ports_but(own, GpuId::none()), nvlink), direction, node,
                 Rank::none());
    for (const Rank rank : topology_.ranks_of(node)) {
      const Bytes its = alone[rank.index()];
      if (its == Bytes(0)) continue;
      consider_cut(worst_cut(its, ports_but(own, topology_.gpu_of(rank)), nvlink), direction, node,
                   rank);
    }
  };
  cuts("into", needs_.leave[node.index()], needs_.in, needs_.leave_alone, ports_.nvlink_in());
  cuts("out of", needs_.enter[node.index()], needs_.out, needs_.enter_alone, ports_.nvlink_out());
}

void PatternBound::consider_cut(const NodeCut& cut, std::string_view direction, NodeId node,
                                Rank except) {
  if (cut.rate.value() <= 0.0) return;
  const std::string others =
      except.is_none() ? "" : fmt::format(" for what rank {} relays", except);
  longest_.consider(cut.load, cut.rate, "NVLink {} {} GPU(s) of node {} and NICs of its others{}",
                    direction, cut.gpus, node, others);
}

void PatternBound::consider_tiers() {
  for (std::size_t tier = 0; tier < needs_.up.size(); ++tier) {
    const SwitchTier& layer = topology_.switch_tiers()[tier];
    for (std::size_t group = 0; group < needs_.up[tier].size(); ++group) {
      if (needs_.up[tier][group] == Bytes(0) && needs_.down[tier][group] == Bytes(0)) continue;
      BytesPerSecond rate(0.0);
      for (const Nic& nic : topology_.nics()) {
        const int of_nic = nic.node.value() / layer.nodes_per_switch;
        if (of_nic == static_cast<int>(group)) rate = rate + nic.rate;
      }
      rate = rate * (1.0 / layer.oversubscription);
      longest_.consider(needs_.up[tier][group], rate, "{} switches of group {}, upwards",
                        layer.name, group);
      longest_.consider(needs_.down[tier][group], rate, "{} switches of group {}, downwards",
                        layer.name, group);
    }
  }
}

Bound PatternBound::bound(int rails) {
  consider_gpus(longest_, end_point_loads(), ports_);
  consider_shared_ports();
  if (rails > 0) consider_rails(rails);
  consider_nodes();
  consider_tiers();
  return longest_.bound();
}

Bound PatternBound::balanced() {
  bound(0);
  for (std::size_t node = 0; node < needs_.leave.size(); ++node) {
    const auto nics = topology_.nics_of(NodeId(node));
    if (nics.empty()) continue;
    const auto count = static_cast<std::int64_t>(nics.size());
    for (const NicId nic : nics) {
      longest_.consider(needs_.leave[node], ports_.nic(nic) * static_cast<double>(count),
                        "NIC {} with its share, sending", nic);
      longest_.consider(needs_.enter[node], ports_.nic(nic) * static_cast<double>(count),
                        "NIC {} with its share, receiving", nic);
    }
    if (!in_peers()) continue;
    for (const GpuId gpu : topology_.gpus_of(NodeId(node))) {
      const auto beside = static_cast<std::int64_t>(topology_.nics_of(gpu).size());
      const std::optional<Rank> rank = topology_.rank_on(gpu);
      const Bytes in = rank ? needs_.in[rank->index()] : Bytes(0);
      const Bytes out = rank ? needs_.out[rank->index()] : Bytes(0);
      longest_.consider(in + needs_.leave[node] * beside / count, ports_.nvlink_in(),
                        "NVLink into GPU {} with its share of the relays", gpu);
      longest_.consider(out + needs_.enter[node] * beside / count, ports_.nvlink_out(),
                        "NVLink out of GPU {} with its share of the relays", gpu);
    }
  }
  return longest_.bound();
}

PatternBound checked(const Pattern& pattern, const Topology& topology, const Rates& rates) {
  HOCCL_CHECK(pattern.rank_count == topology.rank_count(), "pattern of {} ranks on {}",
              pattern.rank_count, topology.rank_count());
  require_paths(pattern, topology);
  return {pattern, topology, rates};
}

}  // namespace

Bound pattern_bound(const Pattern& pattern, const Topology& topology, const Rates& rates,
                    int rails) {
  HOCCL_CHECK(rails >= 0, "{} rails", rails);
  return checked(pattern, topology, rates).bound(rails);
}

Bound balanced_rail_bound(const Pattern& pattern, const Topology& topology, const Rates& rates) {
  return checked(pattern, topology, rates).balanced();
}

}  // namespace hoccl::engine
