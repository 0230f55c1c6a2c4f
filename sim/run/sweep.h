#pragma once

#include <span>
#include <vector>

#include "engine/base/units.h"
#include "engine/run_result.h"
#include "sim/run/scenario.h"

namespace hoccl::sim {

/// Simulates every size in a process of its own, at most `jobs` at a time. Throws ConfigError for
/// a scenario that cannot be run and RunError when a simulation ends without a result.
std::vector<engine::RunResult> simulate_sizes(const Scenario& scenario,
                                              std::span<const engine::Bytes> sizes, int jobs);
/// The same, with a number of iterations for each size.
std::vector<engine::RunResult> simulate_sizes(const Scenario& scenario,
                                              std::span<const engine::Bytes> sizes,
                                              std::span<const int> iterations, int jobs);
/// With the legs of the measured iterations (RunResult::legs).
std::vector<engine::RunResult> simulate_legs(const Scenario& scenario,
                                             std::span<const engine::Bytes> sizes, int jobs);

}  // namespace hoccl::sim
