#pragma once

#include <cstddef>
#include <span>

#include "engine/base/ids.h"
#include "engine/topology/topology.h"

namespace hoccl::engine {

/// The rank of the source's node with the target's local index, whose NICs are on the target's
/// rail; the source where its node has none.
inline Rank rail_relay(const Topology& topology, Rank source, Rank target) {
  const std::span<const Rank> ranks = topology.ranks_of(topology.node_of(source));
  const auto local = static_cast<std::size_t>(topology.local_index(target));
  return local < ranks.size() ? ranks[local] : source;
}

}  // namespace hoccl::engine
