#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/base/ids.h"
#include "hw/node/rank_segment.h"

namespace hoccl::hw {

/// Carries records between this rank and the others of the node through their segments. Never
/// blocks: what finds a ring full waits here.
class Messenger {
 public:
  /// `segments` by rank, attached before the first call; none for ranks of other nodes.
  Messenger(engine::Rank rank, const std::vector<RankSegment>& segments);

  /// From any thread; in order per target. Nothing happens when the target is lost.
  void send(engine::Rank target, const Record& record);
  /// Sends what waited for room. Woken by the own doorbell when there is some.
  void send_waiting();
  /// The oldest record of the next sender that has one. kGarbage: `sender` is broken and must be
  /// taken for lost. One thread.
  RecordRing::Popped receive(engine::Rank& sender, Record& record);
  /// The oldest record of this sender.
  RecordRing::Popped receive_from(engine::Rank sender, Record& record);
  /// No more of and to this rank.
  void lose(engine::Rank peer);

  /// No record waits for room.
  [[nodiscard]] bool nothing_to_send() const;

 private:
  struct Outgoing {
    mutable std::mutex mutex;
    std::deque<Record> waiting;
    bool lost = false;
  };
  static void drain(RecordRing& ring, Outgoing& outgoing);

  const engine::Rank rank_;
  const std::vector<RankSegment>& segments_;
  std::vector<std::unique_ptr<Outgoing>> outgoing_;  ///< by rank
  std::atomic<int> waiting_{0};                      ///< targets with waiting records
  std::vector<bool> lost_;                           ///< of the receiving thread
  std::size_t next_sender_ = 0;
};

}  // namespace hoccl::hw
