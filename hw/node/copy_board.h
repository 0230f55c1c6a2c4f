#pragma once

#include <vector>

#include "engine/fabric.h"
#include "engine/topology/topology.h"
#include "hw/node/rank_segment.h"

namespace hoccl::hw {

/// How many copies every rank of a node has under way out of and into each GPU's memory: a word per
/// rank, GPU and direction in memory of the node. What a dead process has told counts no more.
class CopyBoard {
 public:
  CopyBoard(engine::Rank rank, const engine::Topology& topology,
            const std::vector<RankSegment>& segments);

  // All on the polling thread.
  void report(engine::GpuId gpu, engine::LinkSide side, int under_way);
  [[nodiscard]] int under_way(engine::GpuId gpu, engine::LinkSide side) const;
  void peer_lost(engine::Rank peer);

 private:
  [[nodiscard]] std::size_t word_of(engine::GpuId gpu, engine::LinkSide side) const;

  const engine::Rank rank_;
  const engine::Topology& topology_;
  const std::vector<RankSegment>& segments_;
  std::vector<engine::Rank> living_;  ///< of this rank's node
};

}  // namespace hoccl::hw
