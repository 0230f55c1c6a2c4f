#include "hw/node/foreground_board.h"

#include <algorithm>

#include "engine/base/check.h"

namespace hoccl::hw {

using engine::Rank;
using engine::StreamId;

ForegroundBoard::ForegroundBoard(Rank rank, const engine::Topology& topology,
                                 const std::vector<RankSegment>& segments)
    : rank_(rank), segments_(segments) {
  const auto device_of = [&](Rank of) { return topology.gpu(topology.gpu_of(of)).physical; };
  for (int other = 0; other < topology.rank_count(); ++other) {
    const bool is_here = static_cast<bool>(segments[static_cast<std::size_t>(other)]);
    if (is_here && device_of(Rank(other)) == device_of(rank)) all_sharers_.emplace_back(other);
  }
  living_sharers_ = all_sharers_;
}

std::size_t ForegroundBoard::word_of(StreamId stream) {
  const std::scoped_lock lock(mutex_);
  const auto [entry, is_new] = words_.try_emplace(stream, words_.size());
  HOCCL_CHECK(words_.size() <= RankSegment::kForegroundWords,
              "more than {} streams with foreground work", RankSegment::kForegroundWords);
  if (is_new) {
    segments_[rank_.index()].foreground_words().store(static_cast<std::uint32_t>(words_.size()),
                                                      std::memory_order_release);
  }
  return entry->second;
}

void ForegroundBoard::write(StreamId stream, bool active) {
  word(stream).store(active ? 1 : 0, std::memory_order_release);
  for (const Rank sharer : all_sharers_) segments_[sharer.index()].doorbell().ring();
}

std::atomic<std::uint32_t>& ForegroundBoard::word(StreamId stream) {
  return segments_[rank_.index()].foreground(word_of(stream));
}

bool ForegroundBoard::is_active() const {
  return std::ranges::any_of(living_sharers_, [this](Rank sharer) {
    const RankSegment& segment = segments_[sharer.index()];
    // Another process's number is not believed.
    const std::size_t words = std::min<std::size_t>(
        segment.foreground_words().load(std::memory_order_acquire), RankSegment::kForegroundWords);
    for (std::size_t word = 0; word < words; ++word) {
      if (segment.foreground(word).load(std::memory_order_acquire) != 0) return true;
    }
    return false;
  });
}

void ForegroundBoard::peer_lost(Rank peer) { std::erase(living_sharers_, peer); }

}  // namespace hoccl::hw
