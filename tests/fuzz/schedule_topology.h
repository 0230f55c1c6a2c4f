#pragma once

#include "engine/base/random.h"
#include "engine/topology/topology.h"

namespace hoccl::engine {

/// One to four nodes of one to four GPUs each, equal or not; NICs on all GPUs or some; slots in
/// peers or in host memory; sometimes ranks on some GPUs only, or in another order. Small, because
/// what is done with it is done often.
Topology draw_small_cluster(Random& random);

}  // namespace hoccl::engine
