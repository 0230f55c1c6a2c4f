// The part of HwPort that tells the proxy what has happened.

#include <fmt/format.h>

#include <cstring>
#include <string>
#include <utility>

#include "engine/pipeline/message_check.h"
#include "hw/fabric/hw_port.h"
#include "hw/system/warning.h"

namespace hoccl::hw {

using engine::Arrived;
using engine::Completion;
using engine::MessageArrived;
using engine::NicId;
using engine::Rank;

std::size_t HwPort::poll(std::span<Completion> out) {
  node_->messenger().send_waiting();
  const std::size_t count = gather(out);
  activity_ += static_cast<std::int64_t>(count);
  return count;
}

/// Asks one source after the other until it has nothing more or there is no room.
std::size_t HwPort::gather(std::span<Completion> out) {
  std::size_t count = take_mailbox(out);
  const auto drain = [&](auto&& next) {
    while (count < out.size()) {
      auto completion = next();
      if (!completion) return true;
      out[count++] = std::move(*completion);
    }
    return false;
  };
  drain([this] { return streams_->poll(); });
  drain([this] { return copies_->poll(); });
  drain([this] { return link_->poll(); });
  drain([this] { return next_foreground(); });
  // What a lost peer has said comes before the news of its loss.
  if (drain([this] { return next_record(); })) drain([this] { return next_from_lost_peers(); });
  return count;
}

std::size_t HwPort::take_mailbox(std::span<Completion> out) {
  const std::scoped_lock lock(mailbox_mutex_);
  std::size_t count = 0;
  for (; count < out.size() && !mailbox_.empty(); ++count) {
    out[count] = std::move(mailbox_.front());
    mailbox_.pop_front();
  }
  return count;
}

std::optional<Completion> HwPort::next_foreground() {
  const bool active = foreground_->is_active();
  if (active == foreground_reported_) return std::nullopt;
  foreground_reported_ = active;
  return engine::ForegroundChanged{active};
}

std::optional<Completion> HwPort::next_record() {
  Rank sender;
  Record record;
  while (true) {
    switch (node_->messenger().receive(sender, record)) {
      case RecordRing::Popped::kNothing:
        return std::nullopt;
      case RecordRing::Popped::kGarbage:
        expel(sender, "impossible indices of a ring");
        break;
      case RecordRing::Popped::kRecord:
        if (auto completion = accept(sender, record)) return completion;
        break;
    }
  }
}

/// What a lost peer had said comes before the news of its loss: its rings are empty by now, because
/// its process ended before we heard of it and next_record() found nothing more.
std::optional<Completion> HwPort::next_from_lost_peers() {
  Rank peer;
  do {
    const std::scoped_lock lock(mailbox_mutex_);
    if (newly_lost_.empty()) return std::nullopt;
    peer = newly_lost_.front();
    newly_lost_.pop_front();
  } while (lost_.contains(peer));
  Record record;
  if (node_->messenger().receive_from(peer, record) == RecordRing::Popped::kRecord) {
    // It came between the look into the rings and the news.
    const std::scoped_lock lock(mailbox_mutex_);
    newly_lost_.push_front(peer);
    return accept(peer, record);
  }
  lost_.insert(peer);
  node_->messenger().lose(peer);
  link_->peer_lost(peer);
  foreground_->peer_lost(peer);
  copy_board_->peer_lost(peer);
  node_->buffers().peer_lost(peer);  // its refusals come after the news
  return engine::PeerLost{peer};
}

/// A peer that says what no proxy would say is broken, but while it lives it may still write where
/// it was allowed to. So it is ended, and taken for lost when the mesh reports its end.
void HwPort::expel(Rank peer, const std::string& why) {
  node_->messenger().lose(peer);
  const bool killed = node_->kill(peer);
  warn(fmt::format("hoccl: rank {}: {} rank {}: {}\n", rank_,
                   killed ? "has killed" : "listens no more to", peer, why));
}

/// Nothing that comes out of shared memory is believed.
std::optional<Completion> HwPort::accept(Rank sender, const Record& record) {
  std::string wrong;
  Completion completion;
  if (record.kind == Record::Kind::kMessage) {
    MessageArrived arrived;
    arrived.source = sender;
    std::memcpy(arrived.message.bytes.data(), record.payload.data(), record.payload.size());
    wrong = wrong_with(arrived.message, sender, rank_, topology_, slots_);
    completion = arrived;
  } else if (record.kind == Record::Kind::kArrival) {
    Arrived arrived;
    arrived.local_nic = NicId(record.local_nic);
    arrived.remote_nic = NicId(record.remote_nic);
    arrived.immediate = record.immediate;
    std::memcpy(&arrived.descriptor, record.payload.data(), sizeof(arrived.descriptor));
    wrong = wrong_with(arrived, sender, rank_, topology_, slots_);
    completion = arrived;
  } else {
    wrong = "a record of unknown kind";
  }
  if (wrong.empty()) return completion;
  expel(sender, wrong);
  return std::nullopt;
}

}  // namespace hoccl::hw
