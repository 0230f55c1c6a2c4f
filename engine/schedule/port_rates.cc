#include "engine/schedule/port_rates.h"

#include <algorithm>

namespace hoccl::engine {

BytesPerSecond PortRates::nvlink_out() const {
  return std::min(rates_.nvlink, topology_.nvlink().out);
}

BytesPerSecond PortRates::nvlink_in() const {
  return std::min(rates_.nvlink, topology_.nvlink().in);
}

BytesPerSecond PortRates::pcie_one_way() const {
  return std::min(rates_.pcie_one_way, topology_.pcie().one_way);
}

BytesPerSecond PortRates::pcie_both_ways() const {
  return std::min(rates_.pcie_both_ways, topology_.pcie().duplex_each);
}

BytesPerSecond PortRates::nic(NicId nic) const {
  return std::min(rates_.nic, topology_.nic(nic).rate);
}

BytesPerSecond PortRates::nics_of(GpuId gpu) const {
  BytesPerSecond sum(0.0);
  for (const NicId each : topology_.nics_of(gpu)) sum = sum + nic(each);
  const bool through_port =
      topology_.wire_shares_pcie() && topology_.staging() == StagingKind::kPeer;
  return through_port ? std::min(sum, pcie_one_way()) : sum;
}

BytesPerSecond PortRates::nics_of(NodeId node) const {
  BytesPerSecond sum(0.0);
  for (const GpuId gpu : topology_.gpus_of(node)) sum = sum + nics_of(gpu);
  return sum;
}

}  // namespace hoccl::engine
