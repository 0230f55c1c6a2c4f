#pragma once

#include <vector>

#include "engine/base/ids.h"
#include "engine/base/units.h"
#include "engine/pattern/flow.h"
#include "engine/schedule/rail_map.h"

namespace hoccl::engine {

/// A multicast flow's targets on one node, ascending.
struct NodeTargets {
  NodeId node;
  std::vector<Rank> ranks;

  bool operator==(const NodeTargets&) const = default;
};

/// A flow with several targets, by where these are.
struct Multicast {
  Rank source;
  Bytes source_offset;
  Bytes target_offset;
  Bytes size;
  FlowClass flow_class = FlowClass::kForeground;
  NodeId node;                      ///< the source's
  std::vector<Rank> local;          ///< targets there, beginning after the source
  std::vector<NodeTargets> remote;  ///< beginning after the source's node
  /// The source wants its bytes in its own receive buffer too, where the targets have them. Only
  /// where there is a local target to pass them back.
  bool give_back = false;
};

Multicast multicast_of(const Flow& flow, const RailMap& rails);

/// Whether a flow from a rank to itself asks for what the multicast brings to others.
bool is_own_share_of(const Flow& flow, const Multicast& multicast);

}  // namespace hoccl::engine
