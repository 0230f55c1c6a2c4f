// The part of Outlets that goes on when a queue pair or a path does not.

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "hw/link/outlets.h"
#include "hw/system/monotonic_clock.h"
#include "hw/system/warning.h"

namespace hoccl::hw {

using engine::Rank;
using engine::Seconds;

namespace {

/// A queue pair that fails by itself, or on the only path there is, is made again on its path. When
/// that one fails, too, before anything has come, the path is to blame.
constexpr int kMaxFaults = 2;

}  // namespace

void Outlets::fail(Outlet& outlet, bool path_failed, const std::string& why) {
  drop_queue_pair(outlet);
  outlet.faults += 1;
  const bool is_probe = outlet.use == ConduitUse::kProbe;
  if (!is_probe) say(outlet, why);
  const bool may_move = path_failed && paths_.has_other(outlet.peer, outlet.path);
  if (may_move || outlet.faults >= kMaxFaults) {
    outlet.faults = 0;
    mark_failed(outlet.peer, outlet.path);
  }
  if (!is_probe) advance(outlet);
}

/// The others on it would only find out later.
void Outlets::mark_failed(Rank peer, const Path& path) {
  if (!paths_.mark_failed(peer, path, monotonic_now())) return;
  for (Outlet& outlet : outlets_) {
    const bool uses_it = outlet.peer == peer && outlet.path == path &&
                         outlet.state == Outlet::State::kReady && outlet.use != ConduitUse::kProbe;
    if (!uses_it) continue;
    drop_queue_pair(outlet);
    advance(outlet);
  }
}

void Outlets::mark_working(Rank peer, const Path& path) {
  if (paths_.works(peer, path)) return;
  paths_.mark_working(peer, path);
  warn(fmt::format("hoccl: rank {}: the path {} to rank {} (its NIC {}) works again\n",
                   context_.rank, context_.nics[path.own]->name(), peer, path.peer));
  for (Outlet& outlet : outlets_) {
    if (outlet.peer != peer || outlet.use == ConduitUse::kProbe) continue;
    if (outlet.state == Outlet::State::kBroken) {
      outlet.state = Outlet::State::kUnconnected;
      advance(outlet);
    } else if (outlet.state == Outlet::State::kReady && outlet.items.empty() &&
               outlet.path != outlet.preferred && paths_.works(peer, outlet.preferred)) {
      drop_queue_pair(outlet);
    }
  }
}

/// Nothing may be called lost before the receiver has closed its end, too.
void Outlets::give_up(Outlet& outlet) {
  say(outlet, "no path is left");
  const bool has_other_end = outlet.attempt > 0;
  outlet.state = has_other_end ? Outlet::State::kClosing : Outlet::State::kBroken;
  if (has_other_end) {
    context_.send(outlet.peer, CloseFrame{outlet.number, outlet.attempt});
  } else {
    advance(outlet);
  }
}

void Outlets::drop_queue_pair(Outlet& outlet) {
  if (outlet.queue_pair != nullptr) by_serial_.erase(outlet.queue_pair->serial());
  outlet.queue_pair.reset();
  outlet.posted = 0;
  if (outlet.state != Outlet::State::kLost) outlet.state = Outlet::State::kUnconnected;
}

void Outlets::tick(Seconds now) {
  for (const PathBook::Failed& failed : paths_.take_due(now)) {
    const auto [entry, is_new] = of_probes_.try_emplace(failed, 0U);
    if (is_new) entry->second = add(failed.first, ConduitUse::kProbe, failed.second).number;
    Outlet& probe = outlets_[entry->second];
    if (probe.state == Outlet::State::kConnecting ||
        (probe.state == Outlet::State::kReady && !probe.items.empty())) {
      continue;  // the last one is still under way
    }
    // A new queue pair each time: the old one may have lived through the failure.
    drop_queue_pair(probe);
    if (probe.items.empty()) {
      Outlet::Item item;
      item.header.record.kind = Record::Kind::kProbe;
      push(probe, std::move(item));
    } else {
      advance(probe);
    }
  }
}

bool Outlets::break_one(std::uint64_t index) {
  std::vector<Outlet*> ready;
  for (Outlet& outlet : outlets_) {
    if (outlet.state == Outlet::State::kReady && outlet.use != ConduitUse::kProbe) {
      ready.push_back(&outlet);
    }
  }
  if (ready.empty()) return false;
  ready[index % ready.size()]->queue_pair->to_error();
  return true;
}

void Outlets::say(const Outlet& outlet, const std::string& what) const {
  warn(fmt::format("hoccl: rank {}: {} to rank {} over {}: {}\n", context_.rank,
                   outlet.use == ConduitUse::kMessages ? "messages" : "writes", outlet.peer,
                   context_.nics[outlet.path.own]->name(), what));
}

}  // namespace hoccl::hw
