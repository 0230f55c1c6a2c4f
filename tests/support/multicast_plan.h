#pragma once

#include <vector>

#include "engine/schedule/compile.h"
#include "engine/schedule/plan.h"
#include "engine/topology/topology.h"

namespace hoccl::engine {

/// One message from `source` to all of `targets` (of one other node), each at offset 0 of its
/// receive buffer, over the paths that a message to the first of them would take.
Plan multicast_plan(const Topology& topology, Rank source, std::vector<Rank> targets, Bytes size,
                    const CompileOptions& options);

/// Ranks that such a message could reach besides `target`: those of its node that hold no slots of
/// the way, in ascending order.
std::vector<Rank> possible_further_targets(const Topology& topology, Rank source, Rank target,
                                           Bytes size, const CompileOptions& options);

}  // namespace hoccl::engine
