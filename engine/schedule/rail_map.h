#pragma once

#include <vector>

#include "engine/base/ids.h"
#include "engine/schedule/forwarding.h"
#include "engine/schedule/rail_balance.h"
#include "engine/topology/topology.h"

namespace hoccl::engine {

/// Which NIC of one node talks to which of another. Nodes with equally many NICs pair them rail by
/// rail; of a larger node each peer gets a window, so that all its NICs are used evenly over all
/// peers. Pairing 0 is that; pairing k is turned by k, for flows that no pair of an earlier one may
/// carry.
class RailMap {
 public:
  /// The topology must outlive the map.
  explicit RailMap(const Topology& topology);

  [[nodiscard]] const Topology& topology() const { return topology_; }
  /// Physical GPU of a rank.
  [[nodiscard]] int gpu_of(Rank rank) const { return rank_gpus_[rank.index()]; }
  /// Of its GPU within the node.
  [[nodiscard]] int index_of(Rank rank) const { return rank_indices_[rank.index()]; }
  [[nodiscard]] NodeId node_of(Rank rank) const { return rank_nodes_[rank.index()]; }
  /// Physical GPU in whose memory a NIC's slots lie, or kNoGpu.
  [[nodiscard]] int slot_gpu(NicId nic) const { return slot_gpus_[nic.index()]; }

  [[nodiscard]] int pair_count(NodeId source, NodeId target) const;
  [[nodiscard]] int pairing_count(NodeId source, NodeId target) const;
  [[nodiscard]] NicPair pair(NodeId source, NodeId target, int pairing, int index) const;
  [[nodiscard]] RailEnds ends_of(const NicPair& pair) const {
    return {slot_gpu(pair.send), slot_gpu(pair.receive)};
  }

  /// Whether pairing 0 carries every flow between any two nodes, all with equally many NICs. Then
  /// contention-free stages of nodes are contention-free for NICs.
  [[nodiscard]] bool nodes_are_ports() const { return nodes_are_ports_; }

 private:
  const Topology& topology_;
  std::vector<int> rank_gpus_;
  std::vector<int> rank_indices_;
  std::vector<NodeId> rank_nodes_;
  std::vector<int> slot_gpus_;
  bool nodes_are_ports_ = false;
};

}  // namespace hoccl::engine
