#include "hw/link/outlets.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "engine/base/check.h"
#include "hw/system/monotonic_clock.h"
#include "hw/system/warning.h"

namespace hoccl::hw {

using engine::NicId;
using engine::Outcome;
using engine::QueuePairId;
using engine::Rank;
using engine::Seconds;
using engine::Ticket;

namespace {

/// Writes on one queue pair at a time: below what the receiving end has receives for.
constexpr std::size_t kDepth = 32;
static_assert(kDepth <= kReceives);

}  // namespace

Outlets::Outlets(LinkContext& context, LegTrace& trace, Locate locate)
    : context_(context),
      trace_(trace),
      locate_(std::move(locate)),
      paths_(static_cast<std::uint32_t>(context.nics.size()), context.options.probe_interval) {
  for (const auto& [peer, introduction] : context.peers) {
    paths_.add_peer(peer, static_cast<std::uint32_t>(introduction.nics.size()));
  }
}

Outlet& Outlets::add(Rank peer, ConduitUse use, const Path& preferred) {
  HOCCL_CHECK(outlets_.size() < kMaxConduits, "more than {} conduits", kMaxConduits);
  Outlet& outlet = outlets_.emplace_back();
  outlet.number = static_cast<std::uint32_t>(outlets_.size() - 1);
  outlet.peer = peer;
  outlet.use = use;
  outlet.preferred = preferred;
  if (lost_.contains(peer)) outlet.state = Outlet::State::kLost;
  return outlet;
}

std::uint32_t Outlets::open(NicId local, NicId remote, const Path& serving, Rank peer, int index) {
  const auto [entry, is_new] = of_writes_.try_emplace({local, remote, peer, index}, 0U);
  if (is_new) {
    Outlet& outlet = add(peer, ConduitUse::kWrites, serving);
    outlet.local = local;
    outlet.remote = remote;
    entry->second = outlet.number;
  }
  return entry->second;
}

Ticket Outlets::post_write(std::uint32_t conduit, const engine::WriteRequest& request) {
  Outlet& outlet = outlets_.at(conduit);
  Outlet::Item item;
  item.header.record.kind = Record::Kind::kArrival;
  item.header.record.local_nic = outlet.remote.value();
  item.header.record.remote_nic = outlet.local.value();
  item.header.record.immediate = request.immediate;
  std::memcpy(item.header.record.payload.data(), &request.descriptor,
              item.header.record.payload.size());
  item.write = request;
  push(outlet, std::move(item));
  return Ticket(static_cast<std::int64_t>(outlet.last_sequence));
}

void Outlets::post_message(Rank target, const Path& path, const engine::Message& message) {
  const auto [entry, is_new] = of_messages_.try_emplace(target, 0U);
  if (is_new) entry->second = add(target, ConduitUse::kMessages, path).number;
  Outlet::Item item;
  std::memcpy(item.header.record.payload.data(), message.bytes.data(),
              item.header.record.payload.size());
  push(outlets_.at(entry->second), std::move(item));
}

void Outlets::push(Outlet& outlet, Outlet::Item item) {
  item.header.sequence = ++outlet.last_sequence;
  outlet.items.push_back(std::move(item));
  if (outlet.use != ConduitUse::kProbe) unfinished_.fetch_add(1, std::memory_order_relaxed);
  advance(outlet);
}

void Outlets::advance(Outlet& outlet) {
  switch (outlet.state) {
    case Outlet::State::kUnconnected:
      if (!outlet.items.empty()) connect(outlet);
      return;
    case Outlet::State::kConnecting:
    case Outlet::State::kClosing:
      return;
    case Outlet::State::kReady:
      while (outlet.state == Outlet::State::kReady && outlet.posted < outlet.items.size() &&
             outlet.posted < kDepth) {
        post_front(outlet);
      }
      return;
    case Outlet::State::kBroken:
      if (outlet.use == ConduitUse::kProbe) return;  // it comes when the path works
      while (!outlet.items.empty()) {
        const bool by_mesh = outlet.use == ConduitUse::kMessages;
        if (by_mesh) {
          context_.send(outlet.peer, ItemFrame{outlet.number, 0, outlet.items.front().header});
        }
        finish_front(outlet, by_mesh ? Outcome::kOk : Outcome::kError);
      }
      return;
    case Outlet::State::kLost:
      while (!outlet.items.empty()) finish_front(outlet, Outcome::kError);
      return;
  }
}

std::optional<Path> Outlets::choose(const Outlet& outlet) const {
  if (outlet.use == ConduitUse::kProbe) return outlet.preferred;
  return paths_.choose(outlet.peer, outlet.preferred);
}

void Outlets::connect(Outlet& outlet) {
  while (true) {
    const std::optional<Path> path = choose(outlet);
    if (!path) return give_up(outlet);
    outlet.path = *path;
    const std::unique_ptr<Nic>& nic = context_.nics[path->own];
    try {
      outlet.queue_pair = std::make_unique<RcQueuePair>(
          *nic, context_.next_serial++,
          RcQueuePair::Depth{.writes = static_cast<int>(kDepth), .receives = 0}, context_.options);
      if (outlet.queue_pair->max_inline() < sizeof(WireHeader)) {
        outlet.headers.resize(kDepth);
        outlet.header_memory =
            RegisteredMemory(std::span(&nic, 1), std::as_writable_bytes(std::span(outlet.headers)),
                             RemoteAccess::kNone, /*relaxed=*/false);
      }
      if (outlet.use == ConduitUse::kProbe) {
        outlet.probe.resize(nic->address().mtu_bytes);
        outlet.probe_memory = RegisteredMemory(std::span(&nic, 1), outlet.probe,
                                               RemoteAccess::kNone, /*relaxed=*/false);
      }
      break;
    } catch (const VerbsError& error) {
      drop_queue_pair(outlet);
      say(outlet, error.what());
      mark_failed(outlet.peer, *path);
      if (outlet.use == ConduitUse::kProbe) return;
    }
  }
  by_serial_[outlet.queue_pair->serial()] = outlet.number;
  outlet.attempt += 1;
  outlet.state = Outlet::State::kConnecting;
  context_.send(outlet.peer,
                ConnectFrame{outlet.number, outlet.attempt, outlet.path.own, outlet.path.peer,
                             outlet.first_sequence(), outlet.queue_pair->address()});
}

void Outlets::post_front(Outlet& outlet) {
  Outlet::Item& item = outlet.items[outlet.posted];
  const WireHeader& header = item.header;
  item.posted_at = monotonic_now();
  std::optional<RcQueuePair::Payload> payload;
  if (item.write) {
    const std::optional<PayloadAddresses> located = locate_(*item.write, outlet.peer, outlet.path);
    if (!located) return drop(outlet);
    payload = {located->from, located->to,
               static_cast<std::size_t>(item.write->local.size.count())};
  } else if (outlet.use == ConduitUse::kProbe) {
    // As large as a packet can be, so that a path that only small ones pass does not work. It lands
    // in the ring, where nothing else is yet.
    payload = {outlet.probe_memory.local(0, outlet.probe.data()), outlet.ring, outlet.probe.size()};
  }
  RcQueuePair::Header last{std::as_bytes(std::span(&header, 1)), {}, {}, 0};
  last.immediate = immediate_of(header.sequence);
  last.to = {outlet.ring.address + (header.sequence - 1) % kRingHeaders * sizeof(WireHeader),
             outlet.ring.key};
  if (!outlet.headers.empty()) {
    WireHeader& copy = outlet.headers[header.sequence % kDepth];
    copy = header;
    last.from = outlet.header_memory.local(0, reinterpret_cast<const std::byte*>(&copy));
  }
  const bool is_posted = outlet.queue_pair->post_write(payload ? &*payload : nullptr, last);
  if (!is_posted) return fail(outlet, /*path_failed=*/true, "its NIC takes no more requests");
  outlet.posted += 1;
}

void Outlets::drop(Outlet& outlet) {
  say(outlet, "a buffer is not registered any more, or not where its owner said");
  // What has come before it is known only when the receiver has closed its end.
  outlet.unsendable = outlet.items[outlet.posted].header.sequence;
  drop_queue_pair(outlet);
  outlet.state = Outlet::State::kClosing;
  context_.send(outlet.peer, CloseFrame{outlet.number, outlet.attempt});
}

Outlet* Outlets::awaiting(Rank peer, std::uint32_t conduit, std::uint32_t attempt,
                          Outlet::State state) {
  if (conduit >= outlets_.size() || outlets_[conduit].peer != peer) {
    offenders_.emplace_back(peer, "an answer about a conduit that it does not have");
    return nullptr;
  }
  Outlet& outlet = outlets_[conduit];
  return outlet.attempt == attempt && outlet.state == state ? &outlet : nullptr;
}

bool Outlets::take_received(Outlet& outlet, std::uint64_t received) {
  if (received + 1 < outlet.first_sequence() || received > outlet.last_sequence) {
    offenders_.emplace_back(outlet.peer,
                            fmt::format("it has received {} of {} to {}", received,
                                        outlet.first_sequence(), outlet.last_sequence));
    return false;
  }
  while (outlet.first_sequence() <= received) finish_front(outlet, Outcome::kOk);
  return true;
}

void Outlets::accepted(Rank peer, const AcceptFrame& frame) {
  Outlet* outlet = awaiting(peer, frame.conduit, frame.attempt, Outlet::State::kConnecting);
  if (outlet == nullptr || !take_received(*outlet, frame.received)) return;
  const bool has_failed = outlet->use != ConduitUse::kProbe && !paths_.works(peer, outlet->path);
  if (has_failed) return fail(*outlet, /*path_failed=*/true, "the path has failed meanwhile");
  try {
    outlet->queue_pair->connect(frame.receiver);
  } catch (const VerbsError& error) {
    return fail(*outlet, /*path_failed=*/true, error.what());
  }
  outlet->ring = {frame.ring_address, frame.ring_key};
  outlet->state = Outlet::State::kReady;
  advance(*outlet);
}

void Outlets::refused(Rank peer, const RefuseFrame& frame) {
  Outlet* outlet = awaiting(peer, frame.conduit, frame.attempt, Outlet::State::kConnecting);
  if (outlet == nullptr || !take_received(*outlet, frame.received)) return;
  fail(*outlet, /*path_failed=*/true,
       VerbsError("the other end of the queue pair", frame.error_number).what());
}

void Outlets::closed(Rank peer, const ClosedFrame& frame) {
  Outlet* outlet = awaiting(peer, frame.conduit, frame.attempt, Outlet::State::kClosing);
  if (outlet == nullptr || !take_received(*outlet, frame.received)) return;
  if (outlet->unsendable == outlet->first_sequence() && !outlet->items.empty()) {
    finish_front(*outlet, Outcome::kError);
  }
  outlet->unsendable = 0;
  // A path may have come back meanwhile.
  outlet->state = choose(*outlet) ? Outlet::State::kUnconnected : Outlet::State::kBroken;
  advance(*outlet);
}

void Outlets::broken(Rank peer, const BrokenFrame& frame) {
  Outlet* outlet = awaiting(peer, frame.conduit, frame.attempt, Outlet::State::kReady);
  if (outlet != nullptr) fail(*outlet, /*path_failed=*/false, "its other end is in error");
}

void Outlets::complete(const ibv_wc& completion) {
  const CompletionTag tag = CompletionTag::unpack(completion.wr_id);
  const auto entry = by_serial_.find(tag.queue_pair);
  if (entry == by_serial_.end()) return;
  Outlet& outlet = outlets_[entry->second];
  if (completion.status != IBV_WC_SUCCESS) {
    const Nic& nic = *context_.nics[outlet.path.own];
    return fail(
        outlet, is_path_failure(completion.status),
        describe_failure(completion.status, completion.vendor_err, nic.name(), nic.address(),
                         context_.peers.at(outlet.peer).nics[outlet.path.peer]));
  }
  if (tag.role != CompletionTag::Role::kHeader) return;
  outlet.faults = 0;
  finish_front(outlet, Outcome::kOk);
  if (outlet.use == ConduitUse::kProbe) return mark_working(outlet.peer, outlet.path);
  const bool may_return = outlet.items.empty() && outlet.path != outlet.preferred &&
                          paths_.works(outlet.peer, outlet.preferred);
  if (may_return) drop_queue_pair(outlet);
  advance(outlet);
}

void Outlets::finish_front(Outlet& outlet, Outcome outcome) {
  const Outlet::Item& item = outlet.items.front();
  if (item.write) {
    if (outcome == Outcome::kOk) {
      trace_.written(outlet.local, item.write->tag, item.write->local.size, item.posted_at,
                     monotonic_now());
    }
    context_.events.emplace_back(
        engine::WritesDone{QueuePairId(static_cast<std::int32_t>(outlet.number)),
                           Ticket(static_cast<std::int64_t>(item.header.sequence)), outcome});
  }
  outlet.items.pop_front();
  if (outlet.use != ConduitUse::kProbe) unfinished_.fetch_sub(1, std::memory_order_release);
  if (outlet.posted > 0) outlet.posted -= 1;
}

void Outlets::lose(Rank peer) {
  if (!lost_.insert(peer).second) return;
  paths_.forget_peer(peer);
  for (Outlet& outlet : outlets_) {
    if (outlet.peer != peer) continue;
    drop_queue_pair(outlet);
    outlet.state = Outlet::State::kLost;
    advance(outlet);
  }
}

std::vector<std::pair<Rank, std::string>> Outlets::take_offenders() {
  return std::exchange(offenders_, {});
}

}  // namespace hoccl::hw
