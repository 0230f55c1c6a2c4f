#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/base/ids.h"
#include "engine/base/units.h"
#include "engine/pattern/traffic_matrix.h"
#include "engine/schedule/demand.h"
#include "engine/topology/topology.h"

namespace hoccl::engine {

/// Demand of an AllToAllv for the ranks of one node, straight from its matrix: one pass over all
/// entries, and only the node's own tiles in detail.
class MatrixDemand : public Demand {
 public:
  /// The matrix and the topology must outlive this. Throws as all_to_all_v.
  MatrixDemand(const TrafficMatrix& matrix, bool in_place, const Topology& topology, NodeId node);

  /// The same as Pattern::message_size.
  [[nodiscard]] Bytes largest_buffer() const { return largest_buffer_; }
  [[nodiscard]] Bytes largest_entry() const { return Bytes(largest_entry_); }
  [[nodiscard]] std::span<const PairFlow> flows_of(NodeId source, NodeId target) override;

 private:
  using Sums = std::vector<std::int64_t>;
  /// Ranks that follow each other on one node.
  struct Run {
    Eigen::Index begin = 0;
    Eigen::Index end = 0;
    std::size_t node = 0;
  };

  void aggregate();
  void add_row(Eigen::Index row);
  void take_out_diagonal();
  void find_offsets();
  [[nodiscard]] bool moved(Eigen::Index source, Eigen::Index target) const {
    return matrix_(source, target) > 0 && !(in_place_ && source == target);
  }

  const TrafficMatrix& matrix_;
  bool in_place_;
  const Topology& topology_;
  NodeId node_;
  std::vector<Run> runs_;
  std::vector<std::size_t> own_index_;  // by rank: place among the node's ranks
  Bytes largest_buffer_;
  std::int64_t largest_entry_ = 0;
  // Offsets, by own rank (place) and then by the other rank, of the blocks from and to own ranks.
  Sums sent_from_own_;      ///< in an own rank's send buffer
  Sums received_from_own_;  ///< in the other rank's receive buffer
  Sums sent_to_own_;        ///< in the other rank's send buffer
  Sums received_in_own_;    ///< in an own rank's receive buffer
  std::vector<PairFlow> flows_;
};

}  // namespace hoccl::engine
