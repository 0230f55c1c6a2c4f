#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/schedule/plan.h"
#include "engine/topology/topology.h"
#include "engine/traffic.h"
#include "experiments/hoccl/options.h"

namespace hoccl::cli {

/// The topology with the ranks asked for. Throws ConfigError.
engine::Topology resolve_topology(const PatternOptions& options);

/// The topology that a file says it is for: `topology` (--topology, a preset or a file) if not
/// empty, else the preset `name`. Throws ConfigError naming the file when the names differ.
engine::Topology topology_named(const std::string& name, const std::string& file,
                                const std::string& topology);

/// A saved plan and the topology it is for, with its number of ranks. Throws ConfigError naming the
/// file when the plan does not fit.
struct LoadedPlan {
  engine::Plan plan;
  engine::Topology topology;
};
/// `topology` empty: the preset that the plan names. `slots`: of each kind, of every place.
LoadedPlan load_plan_for(const std::string& file, const std::string& topology, int slots);

/// What WorkOptions ask for: a pattern at several sizes, or a saved plan at its own.
struct Work {
  engine::Topology topology;
  std::string pattern;  ///< its name
  engine::Traffic traffic;
  std::optional<engine::Plan> plan;
  std::vector<engine::Bytes> sizes;
};
/// `slots`: of each kind, of every place. Throws ConfigError.
Work resolve_work(const WorkOptions& options, int slots);

/// A timeline is of one size. Throws ConfigError.
void require_one_size(const std::string& trace_file, const std::vector<engine::Bytes>& sizes);

}  // namespace hoccl::cli
