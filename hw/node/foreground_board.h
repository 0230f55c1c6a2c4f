#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "engine/topology/topology.h"
#include "hw/node/rank_segment.h"

namespace hoccl::hw {

/// The priority switch of one GPU (paper §4): streams of any process that uses the GPU announce
/// foreground work in a word each, in memory of the node; every proxy of the GPU reads all of them.
/// The words of a process that has died count no more.
class ForegroundBoard {
 public:
  ForegroundBoard(engine::Rank rank, const engine::Topology& topology,
                  const std::vector<RankSegment>& segments);

  /// On the thread of the stream, when it gets there.
  void write(engine::StreamId stream, bool active);
  /// What a stream that writes memory itself writes: 1 while foreground work is under way. Rings no
  /// bell, so whoever waits for its end must look.
  [[nodiscard]] std::atomic<std::uint32_t>& word(engine::StreamId stream);
  /// Some living process has foreground work on this GPU now. Polling thread.
  [[nodiscard]] bool is_active() const;
  /// Polling thread.
  void peer_lost(engine::Rank peer);

 private:
  [[nodiscard]] std::size_t word_of(engine::StreamId stream);

  const engine::Rank rank_;
  const std::vector<RankSegment>& segments_;
  std::vector<engine::Rank> all_sharers_;     ///< of the same physical GPU, this rank included
  std::vector<engine::Rank> living_sharers_;  ///< of the polling thread
  std::mutex mutex_;
  std::map<engine::StreamId, std::size_t> words_;
};

}  // namespace hoccl::hw
