#include "hw/link/inlets.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "hw/system/monotonic_clock.h"
#include "hw/verbs/verbs_error.h"

namespace hoccl::hw {

using engine::Rank;
using engine::Seconds;

namespace {

/// For a NIC to flush the receives of a queue pair in error. It takes microseconds; a driver that
/// never does so must not hold up the conduit.
constexpr Seconds kDrainTime{1.0};

}  // namespace

void Inlets::connect(Rank sender, const ConnectFrame& frame) {
  if (gone_.contains(sender) || leaving_.contains(sender)) return;
  const Key key{sender, frame.conduit};
  Inlet& inlet = inlets_[key];
  if (frame.attempt <= inlet.attempt) return accuse(sender, "an attempt that is over");
  inlet.attempt = frame.attempt;
  if (inlet.queue_pair == nullptr) return open(key, inlet, frame);
  inlet.next = frame;
  drain(inlet);
}

void Inlets::open(const Key& key, Inlet& inlet, const ConnectFrame& frame) {
  if (inlet.was_cut_short && frame.first_sequence - 1 > inlet.received) {
    return accuse(key.first, "a NIC has lost what it had acknowledged");
  }
  inlet.received = std::max(inlet.received, frame.first_sequence - 1);
  const std::unique_ptr<Nic>& nic = context_.nics[frame.receiver_nic];
  try {
    const std::uint64_t serial = context_.next_serial++;
    inlet.queue_pair = std::make_unique<RcQueuePair>(
        *nic, serial, RcQueuePair::Depth{.writes = 0, .receives = kReceives}, context_.options);
    inlet.receives = kReceives;
    by_serial_[serial] = key;
    if (inlet.ring.empty()) inlet.ring.resize(kRingHeaders);
    // Headers are written in order: they are what the immediate tells of.
    inlet.ring_memory = RegisteredMemory(
        std::span(&nic, 1), std::as_writable_bytes(std::span(inlet.ring)), RemoteAccess::kWrite,
        /*relaxed=*/false);
    inlet.queue_pair->connect(frame.sender);
  } catch (const VerbsError& error) {
    if (inlet.queue_pair != nullptr) by_serial_.erase(inlet.queue_pair->serial());
    inlet.queue_pair.reset();
    RefuseFrame refusal{frame.conduit, frame.attempt, inlet.received,
                        std::max(1, error.error_number()), 0};
    context_.send(key.first, refusal);
    return;
  }
  AcceptFrame answer;
  answer.conduit = frame.conduit;
  answer.attempt = frame.attempt;
  answer.received = inlet.received;
  answer.ring_address = inlet.ring_memory.address();
  answer.ring_key = inlet.ring_memory.remote_key(0);
  answer.receiver = inlet.queue_pair->address();
  context_.send(key.first, answer);
}

void Inlets::close(Rank sender, const CloseFrame& frame) {
  if (gone_.contains(sender) || leaving_.contains(sender)) return;
  Inlet& inlet = inlets_[{sender, frame.conduit}];
  if (inlet.queue_pair == nullptr) {
    context_.send(sender, ClosedFrame{frame.conduit, frame.attempt, inlet.received});
    return;
  }
  inlet.last = frame;
  drain(inlet);
}

void Inlets::take(Rank sender, const ItemFrame& frame) {
  Inlet& inlet = inlets_[{sender, frame.conduit}];
  if (inlet.queue_pair != nullptr) return accuse(sender, "a message beside its queue pair");
  deliver(sender, inlet, frame.header);
}

void Inlets::drain(Inlet& inlet) {
  if (inlet.is_draining) return;
  inlet.is_draining = true;
  inlet.drain_end = monotonic_now() + kDrainTime;
  draining_ += 1;
  inlet.queue_pair->to_error();
}

void Inlets::end_drain(const Key& key, Inlet& inlet) {
  by_serial_.erase(inlet.queue_pair->serial());
  inlet.queue_pair.reset();
  inlet.was_cut_short = inlet.receives > 0;
  inlet.is_draining = false;
  draining_ -= 1;
  if (inlet.last) {
    context_.send(key.first, ClosedFrame{inlet.last->conduit, inlet.last->attempt, inlet.received});
    inlet.last.reset();
  }
  if (inlet.next) {
    const ConnectFrame frame = *inlet.next;
    inlet.next.reset();
    open(key, inlet, frame);
  }
}

void Inlets::complete(const ibv_wc& completion) {
  const CompletionTag tag = CompletionTag::unpack(completion.wr_id);
  const auto entry = by_serial_.find(tag.queue_pair);
  if (entry == by_serial_.end()) return;
  const Key key = entry->second;
  Inlet& inlet = inlets_.at(key);
  inlet.receives -= 1;
  if (completion.status != IBV_WC_SUCCESS) {
    if (!inlet.is_draining) {
      // Ours failed by itself: the sender may see nothing but silence.
      context_.send(key.first, BrokenFrame{key.second, inlet.attempt});
      drain(inlet);
    }
    return;
  }
  const std::uint64_t sequence = inlet.received + 1;
  const WireHeader& header = inlet.ring[(sequence - 1) % kRingHeaders];
  if (completion.opcode != IBV_WC_RECV_RDMA_WITH_IMM ||
      ntohl(completion.imm_data) != immediate_of(sequence)) {
    return accuse(key.first, fmt::format("an immediate of {} instead of {}",
                                         ntohl(completion.imm_data), immediate_of(sequence)));
  }
  deliver(key.first, inlet, header);
  if (inlet.is_draining) return;
  // Of a device that has failed the rest is flushed, which says so.
  if (inlet.queue_pair->post_receive()) inlet.receives += 1;
}

void Inlets::deliver(Rank sender, Inlet& inlet, const WireHeader& header) {
  if (header.sequence != inlet.received + 1) {
    return accuse(sender,
                  fmt::format("write {} instead of {}", header.sequence, inlet.received + 1));
  }
  inlet.received += 1;
  if (header.record.kind == Record::Kind::kProbe) return;
  context_.events.emplace_back(Received{sender, header.record});
}

void Inlets::tick(Seconds now) {
  if (draining_ > 0) {
    for (auto& [key, inlet] : inlets_) {
      if (!inlet.is_draining) continue;
      if (inlet.receives == 0 || now >= inlet.drain_end) end_drain(key, inlet);
    }
  }
  for (auto peer = leaving_.begin(); peer != leaving_.end();) {
    const bool is_open = std::ranges::any_of(inlets_, [&](const auto& entry) {
      return entry.first.first == *peer && entry.second.queue_pair != nullptr;
    });
    if (is_open) {
      ++peer;
      continue;
    }
    std::erase_if(inlets_, [&](const auto& entry) { return entry.first.first == *peer; });
    gone_.insert(*peer);
    context_.events.emplace_back(Gone{*peer});
    peer = leaving_.erase(peer);
  }
}

void Inlets::lose(Rank peer) {
  if (gone_.contains(peer) || !leaving_.insert(peer).second) return;
  for (auto& [key, inlet] : inlets_) {
    if (key.first != peer) continue;
    inlet.next.reset();
    inlet.last.reset();
    if (inlet.queue_pair != nullptr) drain(inlet);
  }
}

std::vector<std::pair<Rank, std::string>> Inlets::take_offenders() {
  return std::exchange(offenders_, {});
}

}  // namespace hoccl::hw
