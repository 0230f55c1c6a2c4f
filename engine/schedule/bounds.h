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

/// Bound of every plan that the verifier passes and that sends between nodes through slots alone,
/// whatever its paths; with `rails` above 0, of those
/// that stripe a message between two ranks over at most that many NIC pairs. No leg is within a
/// GPU, so what crosses the network is staged in a peer's memory at either end (or in host memory),
/// and a rank's own share goes over a peer; leave that share out of the pattern (in place) where it
/// is not to be moved. Throws ConfigError when the topology cannot carry the pattern.
Bound pattern_bound(const Pattern& pattern, const Topology& topology, const Rates& rates,
                    int rails);

/// Bound of those plans that load all NICs of a node alike, so that each GPU relays its NICs' share
/// of all that the node sends and receives; at least pattern_bound. A plan that loads a rail less
/// where its GPU is busy can be shorter.
Bound balanced_rail_bound(const Pattern& pattern, const Topology& topology, const Rates& rates);

/// Bound of what goes through no slots: plans of forwarding own-nic, and copies by kernels, as
/// NCCL's point-to-point. S / V inside a node; between nodes each GPU uses the NICs next to it and
/// its own memory, S over the sum of their rates (one without a NIC, the first of its node). No
/// copy engine is counted, and a rank's own share costs nothing. Where a flow has several targets,
/// it may be passed on in any way: then NVLink and the GPU's own NICs together bound what a GPU
/// sends and receives, and all NICs of a node what the node does.
Bound own_nic_bound(const Pattern& pattern, const Topology& topology, const Rates& rates);

/// The same where a message between nodes goes over NVLink to the rank of the source's node with
/// the target's local index, if there is one, and leaves through that one's NICs (NCCL's PXN).
Bound rail_relay_bound(const Pattern& pattern, const Topology& topology, const Rates& rates);

}  // namespace hoccl::engine
