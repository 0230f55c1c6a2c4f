#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/base/ids.h"
#include "engine/schedule/compile.h"
#include "engine/schedule/decomposition.h"
#include "engine/schedule/multicast.h"
#include "engine/schedule/plan.h"
#include "engine/schedule/rail_map.h"
#include "engine/schedule/rail_spread.h"
#include "engine/schedule/relay_tree.h"

namespace hoccl::engine {

/// Turns multicasts into transfers, stages still 0: the source pushes to its own node, and stages
/// once for up to `nodes_per_stage_in` other nodes, where each target pulls. A source that would
/// have to push more than its share (a broadcast) has its peers do it (RelayTree).
class MulticastTrees {
 public:
  /// Throws ConfigError when the topology cannot carry one. The map and the options must outlive
  /// this.
  MulticastTrees(const RailMap& rails, const CompileOptions& options,
                 std::vector<Multicast> multicasts);

  /// Adds what goes from node to node.
  void add_demand(PortMatrix& bytes) const;
  /// How often to go through the stages: where one stage-in serves several nodes, its chunks must
  /// not wait in their slots until a whole stage to another node is over.
  [[nodiscard]] std::int64_t rounds() const;
  /// Of the transfers appended, ascending: those that wait for others between nodes.
  [[nodiscard]] const std::vector<FlowId>& late() const { return late_; }
  /// Ids that all of them take at most.
  [[nodiscard]] std::int64_t id_count() const;
  /// Appends the transfers with ids from `first` on; given a node, those with an end there.
  void append(std::int64_t first, std::optional<NodeId> node, std::vector<Transfer>& transfers);

 private:
  /// Nodes, by place in Multicast::remote, that one stage-in serves.
  using Group = std::vector<std::size_t>;
  /// Multicasts from one node to the same nodes: their bytes are spread together.
  struct Family {
    std::vector<std::size_t> members;
    std::vector<Group> groups;
  };
  /// A part of a multicast that takes one path to a group of nodes.
  struct Part {
    std::size_t member = 0;
    Bytes offset;
    Bytes size;
    std::vector<NicPair> pairs;  ///< by node of the group
  };

  void require_paths(const Multicast& multicast) const;
  [[nodiscard]] bool may_share_stage_in(const Multicast& multicast,
                                        const NodeTargets& targets) const;
  [[nodiscard]] std::vector<Group> groups_of(const Multicast& multicast) const;
  void choose_relaying();
  void gather_families();
  [[nodiscard]] std::int64_t ids_of(const Multicast& multicast) const;
  void append_local(std::size_t index, std::optional<NodeId> node,
                    std::vector<Transfer>& transfers) const;
  [[nodiscard]] std::vector<Part> balanced_parts(const Family& family, const Group& group);
  [[nodiscard]] std::vector<Part> symmetric_parts(const Family& family, const Group& group) const;
  void append_group(const Family& family, const Group& group, std::optional<NodeId> node,
                    std::vector<Transfer>& transfers);

  const RailMap& rails_;
  const CompileOptions& options_;
  std::vector<Multicast> multicasts_;
  std::vector<std::optional<RelayTree>> relayed_;  // by multicast
  std::vector<Family> families_;                   // of the others
  std::vector<std::int64_t> first_ids_;            // by multicast, from 0
  std::int64_t id_count_ = 0;
  std::vector<FlowId> late_;
  int most_parts_;  ///< of one multicast on its way to a node
  RailSpread spread_;
};

}  // namespace hoccl::engine
