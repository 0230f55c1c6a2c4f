#pragma once

#include "engine/fabric.h"

namespace hoccl::engine {

/// The place of their node through whose send slots chunks of that size go from `source` to
/// `target` when they cannot be copied straight into the target's buffer: slots of a GPU that is
/// neither's, or host memory where slots are there. None: there is no such place. The same on every
/// rank; both what one rank sends and what one receives is spread over the places.
PlaceId relay_place(const Port& port, Rank source, Rank target, Bytes chunk_size);

}  // namespace hoccl::engine
