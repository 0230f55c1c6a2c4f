#pragma once

#include <string>

#include "engine/pattern/pattern.h"
#include "engine/schedule/compile.h"
#include "engine/schedule/plan.h"
#include "engine/topology/topology.h"
#include "experiments/hoccl/options.h"

namespace hoccl::cli {

/// The topology with the ranks asked for. Throws ConfigError.
engine::Topology resolve_topology(const PatternOptions& options);

/// Throws ConfigError when --from or --to is not a rank of the topology.
void require_ranks(const PatternOptions& options, const engine::Topology& topology);

/// The pattern of one size. Throws ConfigError.
engine::Pattern resolve_pattern(const PatternOptions& options, const engine::Topology& topology,
                                engine::Bytes size);

engine::CompileOptions compile_options(const PatternOptions& options);

/// A saved plan and the topology it is for, with its number of ranks. Throws ConfigError naming the
/// file when the plan does not fit.
struct LoadedPlan {
  engine::Plan plan;
  engine::Topology topology;
};
/// `topology` empty: the preset that the plan names. `slots`: of each kind, of every place.
LoadedPlan load_plan_for(const std::string& file, const std::string& topology, int slots);

}  // namespace hoccl::cli
