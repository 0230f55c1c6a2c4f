#pragma once

#include "engine/base/ids.h"
#include "engine/pattern/pattern.h"
#include "engine/schedule/compile.h"
#include "engine/schedule/plan.h"
#include "engine/schedule/stage_memo.h"
#include "engine/topology/topology.h"

namespace hoccl::engine {

/// The same as compile_for_node(make_pattern(request, ...), ...), but an AllToAll among all ranks
/// is compiled from its matrix: its flows grow with the square of the ranks, and each node needs
/// only its own. Throws as those. `memo` may be null: stages seen lately.
Plan compile_request_for_node(const PatternRequest& request, const Topology& topology,
                              const CompileOptions& options, NodeId node,
                              StageMemo* memo = nullptr);

}  // namespace hoccl::engine
