#pragma once

#include "engine/base/ids.h"
#include "engine/schedule/demand.h"
#include "engine/schedule/plan.h"
#include "engine/schedule/rail_map.h"

namespace hoccl::engine {

/// Where a rank's own share goes through on its way back to the rank, for no leg may copy within
/// one GPU: the memory of the next GPU of its node, or host memory where slots are there. Throws
/// ConfigError on a node with one GPU and slots in peers.
PlaceId self_copy_place(const RailMap& rails, Rank rank);

/// All of such a share through that place, without a number yet.
Transfer self_copy(const RailMap& rails, const PairFlow& share);

}  // namespace hoccl::engine
