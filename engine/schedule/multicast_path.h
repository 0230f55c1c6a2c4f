#pragma once

#include "engine/base/ids.h"
#include "engine/schedule/multicast.h"
#include "engine/schedule/rail_balance.h"
#include "engine/schedule/rail_map.h"

namespace hoccl::engine {

/// The target that stands for its node where the path depends on it: the source's counterpart.
Rank counterpart(const RailMap& rails, Rank source, const NodeTargets& targets);

/// What a multicast asks of the rails to one of its nodes. `turn` differs from node pair to node
/// pair, so that they begin with different rails.
RailDemand demand_of(const RailMap& rails, const Multicast& multicast, const NodeTargets& targets,
                     int turn);

}  // namespace hoccl::engine
