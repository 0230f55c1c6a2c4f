#include "hw/node/messenger.h"

namespace hoccl::hw {

Messenger::Messenger(engine::Rank rank, const std::vector<RankSegment>& segments)
    : rank_(rank), segments_(segments), lost_(segments.size(), false) {
  for (std::size_t i = 0; i < segments.size(); ++i) {
    outgoing_.push_back(std::make_unique<Outgoing>());
  }
}

void Messenger::send(engine::Rank target, const Record& record) {
  Outgoing& outgoing = *outgoing_[target.index()];
  const RankSegment& segment = segments_[target.index()];
  {
    const std::scoped_lock lock(outgoing.mutex);
    if (outgoing.lost) return;
    if (!outgoing.waiting.empty() || !segment.ring_from(rank_).push(record)) {
      if (outgoing.waiting.empty()) waiting_.fetch_add(1, std::memory_order_relaxed);
      outgoing.waiting.push_back(record);
    }
  }
  segment.doorbell().ring();
}

void Messenger::drain(RecordRing& ring, Outgoing& outgoing) {
  while (!outgoing.waiting.empty() && ring.push(outgoing.waiting.front())) {
    outgoing.waiting.pop_front();
  }
}

void Messenger::send_waiting() {
  if (waiting_.load(std::memory_order_relaxed) == 0) return;
  for (std::size_t target = 0; target < outgoing_.size(); ++target) {
    Outgoing& outgoing = *outgoing_[target];
    {
      const std::scoped_lock lock(outgoing.mutex);
      if (outgoing.waiting.empty()) continue;
      drain(segments_[target].ring_from(rank_), outgoing);
      if (outgoing.waiting.empty()) waiting_.fetch_sub(1, std::memory_order_relaxed);
    }
    segments_[target].doorbell().ring();
  }
}

RecordRing::Popped Messenger::receive_from(engine::Rank sender, Record& record) {
  if (lost_[sender.index()] || !segments_[rank_.index()]) return RecordRing::Popped::kNothing;
  RecordRing& ring = segments_[rank_.index()].ring_from(sender);
  const RecordRing::Popped popped = ring.pop(record);
  if (popped == RecordRing::Popped::kRecord && ring.take_room_wanted()) {
    segments_[sender.index()].doorbell().ring();
  }
  return popped;
}

RecordRing::Popped Messenger::receive(engine::Rank& sender, Record& record) {
  for (std::size_t tried = 0; tried < segments_.size(); ++tried) {
    sender = engine::Rank(next_sender_);
    const RecordRing::Popped popped = receive_from(sender, record);
    if (++next_sender_ == segments_.size()) next_sender_ = 0;
    if (popped != RecordRing::Popped::kNothing) return popped;
  }
  return RecordRing::Popped::kNothing;
}

void Messenger::lose(engine::Rank peer) {
  lost_[peer.index()] = true;
  Outgoing& outgoing = *outgoing_[peer.index()];
  const std::scoped_lock lock(outgoing.mutex);
  outgoing.lost = true;
  if (!outgoing.waiting.empty()) waiting_.fetch_sub(1, std::memory_order_relaxed);
  outgoing.waiting.clear();
}

bool Messenger::nothing_to_send() const { return waiting_.load(std::memory_order_relaxed) == 0; }

}  // namespace hoccl::hw
