#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/machine/network.h"
#include "tests/sim/machine/reference_flows.h"

namespace hoccl::sim {

/// An open-loop scenario: who sends what when does not depend on completions, so a rounding
/// difference cannot grow.
struct FlowScenario {
  std::vector<double> capacities;       ///< bytes per second
  std::vector<ReferenceFlow> flows;     ///< by arrival
  std::vector<CapacityChange> changes;  ///< by time
};

/// A random cluster of NVLink ports, NICs and, in some, PCIe ports and oversubscribed switches,
/// with up to `max_flows` flows; some arrive together, some have rate limits, some links change
/// capacity.
FlowScenario random_scenario(std::uint64_t seed, int max_flows);

/// Finish times in the order of scenario.flows, and the bytes that every link carried, simulated
/// in a child process.
struct ScenarioResult {
  std::vector<double> finish;
  std::vector<double> carried;
};
ScenarioResult simulate_in_child(const FlowScenario& scenario, NetworkKind kind);

}  // namespace hoccl::sim
