#pragma once

#include <cstddef>
#include <limits>
#include <vector>

namespace hoccl::sim {

/// A flow of an open-loop scenario, in plain numbers: seconds, bytes, bytes per second.
struct ReferenceFlow {
  double arrival = 0.0;
  double size = 0.0;
  double limit = std::numeric_limits<double>::infinity();
  std::vector<std::size_t> links;
};

struct CapacityChange {
  double time = 0.0;
  std::size_t link = 0;
  double capacity = 0.0;
};

/// Max-min rates by textbook progressive filling: raise all rates together, stop those at their
/// limit and those over a link that is full. Written for clarity, shares no code with the solver.
std::vector<double> reference_rates(const std::vector<double>& capacities,
                                    const std::vector<const ReferenceFlow*>& flows);

/// Finish time of each flow, all rates computed anew at every arrival, completion and change.
std::vector<double> reference_finish_times(std::vector<double> capacities,
                                           const std::vector<ReferenceFlow>& flows,
                                           const std::vector<CapacityChange>& changes);

}  // namespace hoccl::sim
