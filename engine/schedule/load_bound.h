#pragma once

#include "engine/schedule/longest.h"
#include "engine/schedule/port_loads.h"
#include "engine/schedule/port_rates.h"
#include "engine/topology/topology.h"

namespace hoccl::engine {

/// The ports of GPUs: NVLink, copy engines, PCIe.
void consider_gpus(Longest& longest, const PortLoads& loads, const PortRates& rates);
/// NICs and switches.
void consider_network(Longest& longest, const PortLoads& loads, const Topology& topology,
                      const PortRates& rates);

}  // namespace hoccl::engine
