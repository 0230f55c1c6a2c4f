#pragma once

#include <string>

#include "engine/base/units.h"
#include "engine/pattern/pattern.h"
#include "engine/schedule/plan.h"
#include "engine/schedule/port_loads.h"
#include "engine/schedule/rates.h"
#include "engine/topology/topology.h"

namespace hoccl::engine {

/// No run can be shorter: the time that the port named needs for its bytes. Start-up times and
/// latencies are not counted, so it stays a lower bound for every chunk size.
struct Bound {
  Seconds time{0.0};
  std::string port;  ///< empty when nothing is to be moved
};

/// The topology's own rates, copy engines unlimited. Where ports of a kind differ, the fastest
/// counts here; every bound below takes the lower of this and the port's own rate.
Rates nominal_rates(const Topology& topology);

/// Largest load over rate of all ports; of equal ones, the first in the order NVLink, copy engine,
/// PCIe, NIC, switch.
Bound bound_of(const PortLoads& loads, const Topology& topology, const Rates& rates);

/// Bound of this plan with its choice of paths.
Bound plan_bound(const Plan& plan, const Topology& topology, const Rates& rates);

/// Bound of every plan that stripes a message over at most `rails` NIC pairs, whatever its choice:
/// for one message S / V inside a node, S / min(rails * B, V) between nodes. Throws ConfigError
/// when the topology cannot carry the pattern.
Bound pattern_bound(const Pattern& pattern, const Topology& topology, const Rates& rates,
                    int rails);

/// Bound of copies by kernels, as NCCL's point-to-point: S / V inside a node; between nodes each
/// GPU uses the first NIC next to it and its own memory, S / B. No copy engine is involved.
Bound bound_for_kernel_copies(const Pattern& pattern, const Topology& topology, const Rates& rates);

}  // namespace hoccl::engine
