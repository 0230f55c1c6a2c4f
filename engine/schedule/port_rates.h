#pragma once

#include "engine/base/ids.h"
#include "engine/base/units.h"
#include "engine/schedule/rates.h"
#include "engine/topology/topology.h"

namespace hoccl::engine {

/// What ports can carry at most: the lower of the rates assumed and the topology's own.
class PortRates {
 public:
  /// Keeps references.
  PortRates(const Topology& topology, const Rates& rates) : topology_(topology), rates_(rates) {}

  [[nodiscard]] BytesPerSecond nvlink_out() const;
  [[nodiscard]] BytesPerSecond nvlink_in() const;
  [[nodiscard]] BytesPerSecond copy_engine() const { return rates_.copy_engine; }
  [[nodiscard]] BytesPerSecond pcie_one_way() const;
  /// Each direction, while both are busy.
  [[nodiscard]] BytesPerSecond pcie_both_ways() const;
  [[nodiscard]] BytesPerSecond nic(NicId nic) const;
  /// All NICs next to a GPU together, as far as the PCIe port lets them where they share it.
  [[nodiscard]] BytesPerSecond nics_of(GpuId gpu) const;
  /// All NICs of a node together.
  [[nodiscard]] BytesPerSecond nics_of(NodeId node) const;

 private:
  const Topology& topology_;
  const Rates& rates_;
};

}  // namespace hoccl::engine
