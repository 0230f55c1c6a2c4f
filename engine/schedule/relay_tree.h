#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/base/ids.h"
#include "engine/schedule/compile.h"
#include "engine/schedule/decomposition.h"
#include "engine/schedule/multicast.h"
#include "engine/schedule/multicast_legs.h"
#include "engine/schedule/plan.h"
#include "engine/schedule/rail_map.h"

namespace hoccl::engine {

/// A multicast of one source that its node's and the other nodes' ranks help to carry.
class RelayTree {
 public:
  struct Shape {
    /// The source pushes another part to each local target, and these pass them on to each other
    /// and stage them for other nodes. Else the source does all that itself.
    bool exchange = false;
    /// So many of the other nodes get a part each, which they pass on to all the others. 0: the
    /// source's node sends everything to all.
    std::size_t hubs = 0;
  };

  /// Pairing 0 carries everything, with equally many rails to all of the multicast's nodes. The map
  /// and the options must outlive this.
  RelayTree(const RailMap& rails, const CompileOptions& options, const Multicast& multicast,
            Shape shape);

  /// Whether one stage-in serves several nodes, or a node passes on what comes from another.
  [[nodiscard]] bool needs_rounds(const Multicast& multicast) const;
  void add_demand(const Multicast& multicast, PortMatrix& bytes) const;
  [[nodiscard]] std::int64_t id_count(const Multicast& multicast) const;
  /// As MulticastTrees::append. Adds to `late` what waits for others between nodes.
  void append(const Multicast& multicast, std::int64_t first, std::optional<NodeId> node,
              std::vector<Transfer>& transfers, std::vector<FlowId>& late) const;

 private:
  struct Piece {
    std::size_t holder = 0;  ///< among the local targets, where they exchange
    std::size_t hub = 0;     ///< among the remote nodes, where there are hubs
    int rail = 0;
    Bytes offset;
    Bytes size;
  };
  /// Collects the transfers that have an end on the node in question.
  class Output;
  /// A rank that has the bytes, and how it came to them.
  struct Origin {
    Rank rank;
    FlowId after = FlowId::none();
  };

  [[nodiscard]] std::vector<Piece> parts_of(const Multicast& multicast) const;
  void spread(const Multicast& multicast, std::span<const Piece> parts);
  void append_local(const Multicast& multicast, Output& output) const;
  [[nodiscard]] Origin append_exchange(const Multicast& multicast, const MulticastLegs& legs,
                                       const Piece& piece, Output& output) const;
  FlowId append_staged(const MulticastLegs& legs, Origin origin, NodeId from, int rail,
                       std::span<const NodeTargets> nodes, Output& output) const;
  void append_remote(const Multicast& multicast, const MulticastLegs& legs, const Piece& piece,
                     Origin origin, Output& output) const;
  [[nodiscard]] Rank next_holder(const FanOut& fan, NicId send_nic, int turn) const;
  [[nodiscard]] std::size_t group_size() const {
    return static_cast<std::size_t>(options_.nodes_per_stage_in);
  }

  const RailMap& rails_;
  const CompileOptions& options_;
  Shape shape_;
  std::vector<Piece> pieces_;
};

}  // namespace hoccl::engine
