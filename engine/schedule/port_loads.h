#pragma once

#include <array>
#include <vector>

#include "engine/base/ids.h"
#include "engine/base/units.h"
#include "engine/fabric.h"
#include "engine/schedule/plan.h"
#include "engine/topology/topology.h"

namespace hoccl::engine {

/// Bytes that each port of a topology has to carry, by index of the port.
struct PortLoads {
  explicit PortLoads(const Topology& topology);

  // By GPU.
  std::vector<Bytes> nvlink_out;
  std::vector<Bytes> nvlink_in;
  // By physical device. The copy engine charged is that of the GPU that executes the copy.
  std::vector<std::array<Bytes, kCopyClassCount>> copied;
  std::vector<Bytes> pcie_out;  ///< device to host or NIC
  std::vector<Bytes> pcie_in;
  // By NIC.
  std::vector<Bytes> nic_out;
  std::vector<Bytes> nic_in;
  // By tier, then switch.
  std::vector<std::vector<Bytes>> switch_up;
  std::vector<std::vector<Bytes>> switch_down;
};

/// Direct push inside a node: NVLink of both, the source's peer engine.
void add_direct_copy(PortLoads& loads, const Topology& topology, GpuId source, GpuId target,
                     Bytes size);
/// What the source bears of a stage-in, wherever the slot lies.
void add_source_side(PortLoads& loads, const Topology& topology, GpuId source, Bytes size);
/// What the target bears of a deliver (it pulls), wherever the slot lies.
void add_target_side(PortLoads& loads, const Topology& topology, GpuId target, Bytes size);
/// NICs, the PCIe ports the topology says they share, and the switches between.
void add_wire(PortLoads& loads, const Topology& topology, NicId send, NicId receive, Bytes size);

/// Loads of all legs of a plan that the verifier has passed.
PortLoads loads_of(const Plan& plan, const Topology& topology);

}  // namespace hoccl::engine
