#include "engine/schedule/bounds.h"

#include <limits>

#include "engine/schedule/load_bound.h"
#include "engine/schedule/longest.h"
#include "engine/schedule/port_rates.h"

namespace hoccl::engine {
namespace {

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

}  // namespace

void consider_gpus(Longest& longest, const PortLoads& loads, const PortRates& rates) {
  for (std::size_t gpu = 0; gpu < loads.nvlink_out.size(); ++gpu) {
    longest.consider(loads.nvlink_out[gpu], rates.nvlink_out(), "NVLink out of GPU {}", gpu);
    longest.consider(loads.nvlink_in[gpu], rates.nvlink_in(), "NVLink into GPU {}", gpu);
  }
  for (std::size_t device = 0; device < loads.copied.size(); ++device) {
    for (const CopyClass copy_class : kCopyClasses) {
      longest.consider(loads.copied[device][static_cast<std::size_t>(copy_class)],
                       rates.copy_engine(), "{} copy engine of GPU {}", name_of(copy_class),
                       device);
    }
  }
  for (std::size_t device = 0; device < loads.pcie_out.size(); ++device) {
    const BytesPerSecond one_way = rates.pcie_one_way();
    longest.consider(loads.pcie_out[device], one_way, "PCIe out of GPU {}", device);
    longest.consider(loads.pcie_in[device], one_way, "PCIe into GPU {}", device);
    longest.consider(loads.pcie_out[device] + loads.pcie_in[device], rates.pcie_both_ways() * 2.0,
                     "PCIe of GPU {}, both ways", device);
  }
}

void consider_network(Longest& longest, const PortLoads& loads, const Topology& topology,
                      const PortRates& rates) {
  for (std::size_t nic = 0; nic < loads.nic_out.size(); ++nic) {
    longest.consider(loads.nic_out[nic], rates.nic(NicId(nic)), "NIC {}, sending", nic);
    longest.consider(loads.nic_in[nic], rates.nic(NicId(nic)), "NIC {}, receiving", nic);
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
  const PortRates ports(topology, rates);
  consider_gpus(longest, loads, ports);
  consider_network(longest, loads, topology, ports);
  return longest.bound();
}

Bound plan_bound(const Plan& plan, const Topology& topology, const Rates& rates) {
  return bound_of(loads_of(plan, topology), topology, rates);
}

}  // namespace hoccl::engine
