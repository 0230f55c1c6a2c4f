#pragma once

#include <optional>
#include <vector>

#include "engine/base/ids.h"
#include "engine/schedule/compile.h"
#include "engine/schedule/demand.h"
#include "engine/schedule/multicast.h"
#include "engine/schedule/plan.h"
#include "engine/schedule/rail_map.h"
#include "engine/schedule/stage_memo.h"

namespace hoccl::engine {

/// Adds the transfers of a demand and of multicasts, balanced over the rails, to a plan that has
/// only its head. Given a node, only those with an end there; all have the same ids and stages
/// either way. That needs RailMap::nodes_are_ports(). `memo` may be null.
void build_balanced(Plan& plan, Demand& demand, std::vector<Multicast> multicasts,
                    const RailMap& rails, const CompileOptions& options, std::optional<NodeId> node,
                    StageMemo* memo = nullptr);

/// Leaves of a plan what has an end on the node.
void keep_node(Plan& plan, const Topology& topology, NodeId node);

/// Throws ConfigError unless the options are in range.
void require_in_range(const CompileOptions& options);

/// Throws ConfigError when a flow of this size has too many chunks.
void require_chunks(Bytes size, Bytes chunk_size);

}  // namespace hoccl::engine
