#include "engine/schedule/bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/config_error.h"
#include "engine/schedule/forwarding.h"

namespace hoccl::engine {
namespace {

/// Keeps the longest time seen and the port that caused it.
class Longest {
 public:
  template <class... Args>
  void consider(Bytes load, BytesPerSecond rate, fmt::format_string<Args...> port, Args&&... args) {
    if (load == Bytes(0)) return;
    HOCCL_CHECK(rate.value() > 0.0, "rate {} under a load of {} bytes", rate.value(), load.count());
    const Seconds time = load / rate;
    if (!bound_.port.empty() && time <= bound_.time) return;
    bound_ = {time, fmt::format(port, std::forward<Args>(args)...)};
  }

  [[nodiscard]] const Bound& bound() const { return bound_; }

 private:
  Bound bound_;
};

std::string_view name_of(CopyClass copy_class) {
  switch (copy_class) {
    case CopyClass::kPeer:
      return "peer";
    case CopyClass::kDeviceToHost:
      return "device-to-host";
    case CopyClass::kHostToDevice:
      return "host-to-device";
  }
  HOCCL_CHECK(false, "copy class {}", static_cast<int>(copy_class));
}

void consider_gpus(Longest& longest, const PortLoads& loads, const Topology& topology,
                   const Rates& rates) {
  const BytesPerSecond out = std::min(rates.nvlink, topology.nvlink().out);
  const BytesPerSecond in = std::min(rates.nvlink, topology.nvlink().in);
  for (std::size_t gpu = 0; gpu < loads.nvlink_out.size(); ++gpu) {
    longest.consider(loads.nvlink_out[gpu], out, "NVLink out of GPU {}", gpu);
    longest.consider(loads.nvlink_in[gpu], in, "NVLink into GPU {}", gpu);
  }
  for (std::size_t device = 0; device < loads.copied.size(); ++device) {
    for (const CopyClass copy_class : kCopyClasses) {
      longest.consider(loads.copied[device][static_cast<std::size_t>(copy_class)],
                       rates.copy_engine, "{} copy engine of GPU {}", name_of(copy_class), device);
    }
  }
  const BytesPerSecond one_way = std::min(rates.pcie_one_way, topology.pcie().one_way);
  const BytesPerSecond both = std::min(rates.pcie_both_ways, topology.pcie().duplex_each);
  for (std::size_t device = 0; device < loads.pcie_out.size(); ++device) {
    longest.consider(loads.pcie_out[device], one_way, "PCIe out of GPU {}", device);
    longest.consider(loads.pcie_in[device], one_way, "PCIe into GPU {}", device);
    longest.consider(loads.pcie_out[device] + loads.pcie_in[device], both * 2.0,
                     "PCIe of GPU {}, both ways", device);
  }
}

void consider_network(Longest& longest, const PortLoads& loads, const Topology& topology,
                      const Rates& rates) {
  for (std::size_t nic = 0; nic < loads.nic_out.size(); ++nic) {
    const BytesPerSecond rate = std::min(rates.nic, topology.nic(NicId(nic)).rate);
    longest.consider(loads.nic_out[nic], rate, "NIC {}, sending", nic);
    longest.consider(loads.nic_in[nic], rate, "NIC {}, receiving", nic);
  }
  for (std::size_t tier = 0; tier < loads.switch_up.size(); ++tier) {
    const std::string& name = topology.switch_tiers()[tier].name;
    for (std::size_t i = 0; i < loads.switch_up[tier].size(); ++i) {
      // Asked for only under load: on large topologies the sum over NICs is slow.
      if (loads.switch_up[tier][i] == Bytes(0) && loads.switch_down[tier][i] == Bytes(0)) continue;
      const BytesPerSecond rate = topology.uplink_rate(static_cast<int>(tier), static_cast<int>(i));
      longest.consider(loads.switch_up[tier][i], rate, "{} switch {}, upwards", name, i);
      longest.consider(loads.switch_down[tier][i], rate, "{} switch {}, downwards", name, i);
    }
  }
}

/// Rate of the `most` fastest of these NICs together.
BytesPerSecond fastest(const Topology& topology, const Rates& rates, std::vector<NicId> nics,
                       int most) {
  std::vector<BytesPerSecond> each;
  for (const NicId nic : nics) each.push_back(std::min(rates.nic, topology.nic(nic).rate));
  std::ranges::sort(each, std::greater<>());
  BytesPerSecond sum(0.0);
  for (std::size_t i = 0; i < std::min(each.size(), static_cast<std::size_t>(most)); ++i) {
    sum = sum + each[i];
  }
  return sum;
}

/// All NICs of a node together carry what enters or leaves the node.
void consider_nodes(Longest& longest, const Pattern& pattern, const Topology& topology,
                    const Rates& rates) {
  std::vector<Bytes> out(static_cast<std::size_t>(topology.node_count()));
  std::vector<Bytes> in(out.size());
  for (const Flow& flow : pattern.flows) {
    const NodeId source = topology.node_of(flow.source);
    const NodeId target = topology.node_of(flow.target);
    if (source == target) continue;
    out[source.index()] += flow.size;
    in[target.index()] += flow.size;
  }
  for (std::size_t node = 0; node < out.size(); ++node) {
    const auto nics = topology.nics_of(NodeId(node));
    const BytesPerSecond rate =
        fastest(topology, rates, {nics.begin(), nics.end()}, std::numeric_limits<int>::max());
    longest.consider(out[node], rate, "NICs of node {}, sending", node);
    longest.consider(in[node], rate, "NICs of node {}, receiving", node);
  }
}

NicId nearest_nic(const Topology& topology, Rank rank) {
  const auto own = topology.nics_of(topology.gpu_of(rank));
  const auto local = topology.nics_of(topology.node_of(rank));
  HOCCL_CHECK(!local.empty(), "node {} without a NIC", topology.node_of(rank));
  return own.empty() ? local.front() : own.front();
}

void require_ranks(const Pattern& pattern, const Topology& topology) {
  HOCCL_CHECK(pattern.rank_count == topology.rank_count(), "pattern of {} ranks on {}",
              pattern.rank_count, topology.rank_count());
}

}  // namespace

Rates nominal_rates(const Topology& topology) {
  const BytesPerSecond unlimited(std::numeric_limits<double>::infinity());
  Rates rates{.nvlink = std::max(topology.nvlink().out, topology.nvlink().in),
              .nic = BytesPerSecond(0.0),
              .pcie_one_way = topology.pcie().one_way,
              .pcie_both_ways = topology.pcie().duplex_each,
              .copy_engine = unlimited};
  for (const Nic& nic : topology.nics()) rates.nic = std::max(rates.nic, nic.rate);
  return rates;
}

Bound bound_of(const PortLoads& loads, const Topology& topology, const Rates& rates) {
  Longest longest;
  consider_gpus(longest, loads, topology, rates);
  consider_network(longest, loads, topology, rates);
  return longest.bound();
}

Bound plan_bound(const Plan& plan, const Topology& topology, const Rates& rates) {
  return bound_of(loads_of(plan, topology), topology, rates);
}

Bound pattern_bound(const Pattern& pattern, const Topology& topology, const Rates& rates,
                    int rails) {
  require_ranks(pattern, topology);
  HOCCL_CHECK(rails >= 1, "{} rails", rails);
  PortLoads end_points(topology);
  for (const Flow& flow : pattern.flows) {
    const GpuId source = topology.gpu_of(flow.source);
    const GpuId target = topology.gpu_of(flow.target);
    if (topology.node_of(flow.source) == topology.node_of(flow.target)) {
      add_direct_copy(end_points, topology, source, target, flow.size);
    } else {
      add_source_side(end_points, topology, source, flow.size);
      add_target_side(end_points, topology, target, flow.size);
    }
  }
  Longest longest;
  consider_gpus(longest, end_points, topology, rates);
  for (const Flow& flow : pattern.flows) {
    if (topology.node_of(flow.source) == topology.node_of(flow.target)) continue;
    // Called for its refusal of topologies without a path.
    const auto paths = candidate_pairs(topology, flow.source, flow.target);
    const int used = std::min(rails, static_cast<int>(paths.size()));
    const auto best = [&](Rank rank) {
      return fastest(topology, rates, staging_nics(topology, topology.gpu_of(rank)), used);
    };
    longest.consider(flow.size, std::min(best(flow.source), best(flow.target)),
                     "{} NIC pair(s) from rank {} to rank {}", used, flow.source, flow.target);
  }
  consider_nodes(longest, pattern, topology, rates);
  return longest.bound();
}

Bound bound_for_kernel_copies(const Pattern& pattern, const Topology& topology,
                              const Rates& rates) {
  require_ranks(pattern, topology);
  PortLoads loads(topology);
  for (const Flow& flow : pattern.flows) {
    if (topology.node_of(flow.source) == topology.node_of(flow.target)) {
      loads.nvlink_out[topology.gpu_of(flow.source).index()] += flow.size;
      loads.nvlink_in[topology.gpu_of(flow.target).index()] += flow.size;
    } else {
      add_wire(loads, topology, nearest_nic(topology, flow.source),
               nearest_nic(topology, flow.target), flow.size);
    }
  }
  return bound_of(loads, topology, rates);
}

}  // namespace hoccl::engine
