#include "hw/node/copy_board.h"

#include <algorithm>

#include "engine/base/check.h"

namespace hoccl::hw {

using engine::GpuId;
using engine::LinkSide;
using engine::Rank;

CopyBoard::CopyBoard(Rank rank, const engine::Topology& topology,
                     const std::vector<RankSegment>& segments)
    : rank_(rank), topology_(topology), segments_(segments) {
  const auto local = topology.ranks_of(topology.node_of(rank));
  living_.assign(local.begin(), local.end());
}

std::size_t CopyBoard::word_of(GpuId gpu, LinkSide side) const {
  const engine::Gpu& place = topology_.gpu(gpu);
  HOCCL_CHECK(place.node == topology_.node_of(rank_), "GPU {} is on another node than rank {}", gpu,
              rank_);
  const auto word =
      static_cast<std::size_t>(place.index) * 2 + (side == LinkSide::kOut ? std::size_t{0} : 1);
  HOCCL_CHECK(word < RankSegment::kCopyWords, "node of more than {} GPUs",
              RankSegment::kCopyWords / 2);
  return word;
}

void CopyBoard::report(GpuId gpu, LinkSide side, int under_way) {
  segments_[rank_.index()].copies(word_of(gpu, side)).store(under_way, std::memory_order_relaxed);
}

int CopyBoard::under_way(GpuId gpu, LinkSide side) const {
  const std::size_t word = word_of(gpu, side);
  int sum = 0;
  for (const Rank rank : living_) {
    sum += segments_[rank.index()].copies(word).load(std::memory_order_relaxed);
  }
  return sum;
}

void CopyBoard::peer_lost(Rank peer) { std::erase(living_, peer); }

}  // namespace hoccl::hw
