// The part of HwPort that tells the proxy what has happened.

#include <fmt/format.h>

#include <algorithm>
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

namespace {

/// Not what the GPU is asked for, nor the end of what was paid for when it was called.
bool is_told(const Completion& completion) {
  return !std::holds_alternative<engine::CopiesDone>(completion) &&
         !std::holds_alternative<engine::BufferExported>(completion) &&
         !std::holds_alternative<engine::BufferRegistered>(completion) &&
         !std::holds_alternative<engine::BufferImported>(completion);
}

}  // namespace

std::size_t HwPort::poll(std::span<Completion> out) {
  // Another look in the same step comes only after one that had no room for all.
  if (!filled_) polled_at_.store(monotonic_now().count(), std::memory_order_relaxed);
  node_->messenger().send_waiting();
  if (to_be_broken_.load(std::memory_order_relaxed) >= 0) {
    link_->break_queue_pair(static_cast<std::uint64_t>(to_be_broken_.exchange(-1)));
  }
  const std::size_t count = gather(out);
  filled_ = count == out.size();
  activity_ += static_cast<std::int64_t>(count);
  work_.heard += std::ranges::count_if(out.first(count), is_told);
  return count;
}

/// Asks one source after the other until it has nothing more or there is no room. Most of them ring
/// the bell after each thing they have, so they are asked only when it has rung since.
std::size_t HwPort::gather(std::span<Completion> out) {
  const std::uint32_t rings = doorbell().rings();
  const bool rung = heard_ != rings;
  std::size_t count = rung ? take_mailbox(out) : 0;
  const auto drain = [&](auto&& next) {
    while (count < out.size()) {
      if (!next(out[count])) return true;
      count += 1;
    }
    return false;
  };
  const auto drain_all = [&](auto& source) {
    return drain([&source](Completion& next) {
      const auto completion = source.poll();
      if (completion) next = *completion;
      return completion.has_value();
    });
  };
  drain_all(*streams_);
  drain_all(*copies_);
  if (rung || link_->look()) drain([this](Completion& next) { return next_from_link(next); });
  drain([this](Completion& next) { return next_foreground(next); });
  if (!rung) return count;
  // What a lost peer has said comes before the news of its loss.
  const bool all = drain([this](Completion& next) { return next_record(next); }) &&
                   drain([this](Completion& next) { return next_from_lost_peers(next); });
  heard_ = all ? std::optional(rings) : std::nullopt;
  return count;
}

std::size_t HwPort::take_mailbox(std::span<Completion> out) {
  if (letters_.load(std::memory_order_acquire) == 0) return 0;
  const std::scoped_lock lock(mailbox_mutex_);
  std::size_t count = 0;
  for (; count < out.size() && !mailbox_.empty(); ++count) {
    out[count] = std::move(mailbox_.front());
    mailbox_.pop_front();
  }
  letters_.fetch_sub(count, std::memory_order_relaxed);
  return count;
}

bool HwPort::next_foreground(Completion& out) {
  const bool active = foreground_->is_active();
  if (active == foreground_reported_) return false;
  foreground_reported_ = active;
  out = engine::ForegroundChanged{active};
  return true;
}

bool HwPort::next_from_link(Completion& out) {
  while (const auto event = link_->poll()) {
    if (const auto* done = std::get_if<engine::WritesDone>(&*event)) {
      out = *done;
      return true;
    }
    if (const auto* received = std::get_if<Received>(&*event)) {
      if (lost_.contains(received->sender)) continue;
      if (accept(received->sender, received->record, out)) return true;
      continue;
    }
    forget(std::get<Gone>(*event).peer, out);
    return true;
  }
  return false;
}

bool HwPort::next_record(Completion& out) {
  Rank sender;
  Record record;
  while (true) {
    switch (node_->messenger().receive(sender, record)) {
      case RecordRing::Popped::kNothing:
        return false;
      case RecordRing::Popped::kGarbage:
        expel(sender, "impossible indices of a ring");
        break;
      case RecordRing::Popped::kRecord:
        if (accept(sender, record, out)) return true;
        break;
    }
  }
}

/// What a lost peer had said comes before the news of its loss: its rings are empty by now, because
/// its process ended before we heard of it and next_record() found nothing more.
bool HwPort::next_from_lost_peers(Completion& out) {
  if (letters_.load(std::memory_order_acquire) == 0) return false;
  Rank peer;
  do {
    const std::scoped_lock lock(mailbox_mutex_);
    if (newly_lost_.empty()) return false;
    peer = newly_lost_.front();
    newly_lost_.pop_front();
    letters_.fetch_sub(1, std::memory_order_relaxed);
  } while (lost_.contains(peer));
  if (!node_->is_member(peer)) {
    link_->peer_lost(peer);  // which says when it can touch memory no more
    return next_from_link(out) || next_from_lost_peers(out);
  }
  Record record;
  if (node_->messenger().receive_from(peer, record) == RecordRing::Popped::kRecord) {
    // It came between the look into the rings and the news.
    const std::scoped_lock lock(mailbox_mutex_);
    newly_lost_.push_front(peer);
    letters_.fetch_add(1, std::memory_order_relaxed);
    return accept(peer, record, out) || next_from_lost_peers(out);
  }
  link_->peer_lost(peer);
  forget(peer, out);
  return true;
}

void HwPort::forget(Rank peer, Completion& out) {
  lost_.insert(peer);
  node_->messenger().lose(peer);
  foreground_->peer_lost(peer);
  copy_board_->peer_lost(peer);
  node_->buffers().peer_lost(peer);  // its refusals come after the news
  out = engine::PeerLost{peer};
}

/// A peer that says what no proxy would say is broken, but while it lives it may still write where
/// it was allowed to. So it is ended, and taken for lost when the mesh reports its end.
void HwPort::expel(Rank peer, const std::string& why) {
  node_->messenger().lose(peer);
  const bool killed = !link_->expel(peer) && node_->kill(peer);
  warn(fmt::format("hoccl: rank {}: {} rank {}: {}\n", rank_,
                   killed ? "has killed" : "listens no more to", peer, why));
}

/// Nothing that comes out of shared memory is believed.
bool HwPort::accept(Rank sender, const Record& record, Completion& out) {
  std::string wrong;
  if (record.kind == Record::Kind::kMessage) {
    auto& arrived = out.emplace<MessageArrived>();
    arrived.source = sender;
    std::memcpy(arrived.message.bytes.data(), record.payload.data(), record.payload.size());
    wrong = wrong_with(arrived.message, sender, rank_, topology_, slots_);
  } else if (record.kind == Record::Kind::kArrival) {
    auto& arrived = out.emplace<Arrived>();
    arrived.local_nic = NicId(record.local_nic);
    arrived.remote_nic = NicId(record.remote_nic);
    arrived.immediate = record.immediate;
    std::memcpy(&arrived.descriptor, record.payload.data(), sizeof(arrived.descriptor));
    wrong = wrong_with(arrived, sender, rank_, topology_, slots_);
  } else {
    wrong = "a record of unknown kind";
  }
  if (wrong.empty()) return true;
  expel(sender, wrong);
  return false;
}

}  // namespace hoccl::hw
