#pragma once

#include <vector>

#include "engine/base/units.h"
#include "engine/pattern/pattern.h"
#include "engine/topology/topology.h"

namespace hoccl::engine {

/// What a pattern makes unavoidable, whatever the plan: bytes by rank, node and group of nodes.
/// Bytes of a send buffer that several flows share are counted once where one copy can serve them
/// all. "Alone" are bytes that no other rank of the node is a target of, so that nobody can help.
struct TrafficNeeds {
  TrafficNeeds(const Pattern& pattern, const Topology& topology);

  // By rank.
  std::vector<Bytes> out;          ///< distinct bytes somebody wants, itself included
  std::vector<Bytes> in;           ///< bytes that must appear in its receive buffer
  std::vector<Bytes> leave_alone;  ///< of `out`: for other nodes, and for nobody else on its own
  std::vector<Bytes> enter_alone;  ///< of `in`: from other nodes, and for nobody else on its own
  std::vector<Bytes> keep_alone;   ///< of both: its own share, that no other rank of the node gets
  // By node.
  std::vector<Bytes> leave;  ///< distinct bytes for other nodes
  std::vector<Bytes> enter;  ///< distinct bytes from other nodes, once for all its targets
  // By switch tier, then group of nodes below it.
  std::vector<std::vector<Bytes>> up;
  std::vector<std::vector<Bytes>> down;
};

}  // namespace hoccl::engine
