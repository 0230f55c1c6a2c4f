#pragma once

#include "engine/base/ids.h"
#include "engine/pattern/traffic_matrix.h"
#include "engine/schedule/compile.h"
#include "engine/schedule/plan.h"
#include "engine/schedule/stage_memo.h"
#include "engine/topology/topology.h"

namespace hoccl::engine {

/// The same as compile_for_node(all_to_all_v(matrix, in_place), ...), without listing all flows:
/// what an AllToAllv's ranks compile at every call. Throws as that. `memo` may be null: stages seen
/// lately.
Plan compile_matrix_for_node(const TrafficMatrix& matrix, bool in_place, const Topology& topology,
                             const CompileOptions& options, NodeId node, StageMemo* memo = nullptr);

}  // namespace hoccl::engine
