#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/base/ids.h"
#include "engine/base/units.h"
#include "engine/pattern/flow.h"
#include "engine/schedule/decomposition.h"
#include "engine/schedule/plan.h"

namespace hoccl::engine {

/// A flow to one rank.
struct PairFlow {
  Rank source;
  Rank target;
  Bytes source_offset;
  Bytes target_offset;
  Bytes size;
  FlowClass flow_class = FlowClass::kForeground;
};

/// All of it directly, without a number yet.
inline Transfer transfer_of(const PairFlow& flow) {
  Transfer transfer;
  transfer.source = flow.source;
  transfer.target = flow.target;
  transfer.source_offset = flow.source_offset;
  transfer.target_offset = flow.target_offset;
  transfer.size = flow.size;
  transfer.flow_class = flow.flow_class;
  return transfer;
}

/// What ranks send to single others, by tile: all from the ranks of one node to those of another,
/// or of the same. Whoever asks sees the same numbers, however much of the detail there is.
class Demand {
 public:
  Demand(int nodes, int ranks)
      : bytes_(PortMatrix::Zero(nodes, nodes)),
        flow_counts_(static_cast<std::size_t>(nodes) * static_cast<std::size_t>(nodes), 0),
        sent_(static_cast<std::size_t>(ranks), 0),
        received_(static_cast<std::size_t>(ranks), 0) {}
  virtual ~Demand() = default;
  Demand(const Demand&) = delete;
  Demand& operator=(const Demand&) = delete;

  [[nodiscard]] int node_count() const { return static_cast<int>(bytes_.rows()); }
  /// Bytes from node to node, in the same node too.
  [[nodiscard]] const PortMatrix& bytes() const { return bytes_; }
  [[nodiscard]] std::int32_t flow_count(NodeId source, NodeId target) const {
    return flow_counts_[tile(source, target)];
  }
  /// Bytes of a rank's flows, to itself too.
  [[nodiscard]] Bytes sent_by(Rank rank) const { return Bytes(sent_[rank.index()]); }
  [[nodiscard]] Bytes received_by(Rank rank) const { return Bytes(received_[rank.index()]); }
  /// The flows of a tile by source, target and source offset, none of them empty. Valid until the
  /// next call. A demand that was made for one node has only the tiles from and to it.
  [[nodiscard]] virtual std::span<const PairFlow> flows_of(NodeId source, NodeId target) = 0;

 protected:
  [[nodiscard]] std::size_t tile(NodeId source, NodeId target) const {
    return source.index() * static_cast<std::size_t>(node_count()) + target.index();
  }

  PortMatrix bytes_;
  std::vector<std::int32_t> flow_counts_;  // by tile
  std::vector<std::int64_t> sent_;         // by rank
  std::vector<std::int64_t> received_;     // by rank
};

}  // namespace hoccl::engine
