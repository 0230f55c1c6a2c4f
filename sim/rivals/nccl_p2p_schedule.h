#pragma once

#include <vector>

#include "engine/base/ids.h"
#include "engine/topology/topology.h"

namespace hoccl::sim {

/// The order in which NCCL carries out the sends and receives of one group: by rounds, in each of
/// which a rank sends to one peer and receives from one other. Ranks of a node that follow each
/// other form groups of up to 8; first come the rounds within the own group, then those to one
/// group after the other (NCCL 2.30, src/init.cc ncclP2pSchedule, P2P_SCHEDULE_GROUP_SIZE).
class NcclP2pSchedule {
 public:
  explicit NcclP2pSchedule(const engine::Topology& topology);

  /// In which round the source sends to the target, which is also when that one receives; 0: to
  /// itself.
  [[nodiscard]] int round_of(engine::Rank source, engine::Rank target) const;

  /// Channel of part `part` of a message of that round, of `channel_count`. All rounds to one group
  /// share theirs; within one node every round has another first one (src/include/channel.h
  /// ncclP2pChannelBaseForRound, src/enqueue.cc ncclP2pChannelForPart).
  [[nodiscard]] int channel_of(int round, int part, int channel_count) const;

 private:
  int rank_count_;
  bool one_node_;
  int group_size_;
  std::vector<int> turn_of_delta_;  ///< which one in turn a group's distance is
};

}  // namespace hoccl::sim
