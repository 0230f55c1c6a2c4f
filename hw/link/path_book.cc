#include "hw/link/path_book.h"

#include <algorithm>

namespace hoccl::hw {

using engine::Rank;
using engine::Seconds;

void PathBook::forget_peer(Rank peer) {
  peers_.erase(peer);
  std::erase_if(failed_, [&](const auto& entry) { return entry.first.first == peer; });
}

std::optional<Path> PathBook::choose(Rank peer, const Path& preferred) const {
  if (works(peer, preferred)) return preferred;
  const std::uint32_t peer_nics = peers_.at(peer);
  for (std::uint32_t rail = 0; rail < std::min(own_nics_, peer_nics); ++rail) {
    if (works(peer, {rail, rail})) return Path{rail, rail};
  }
  for (std::uint32_t own = 0; own < own_nics_; ++own) {
    for (std::uint32_t other = 0; other < peer_nics; ++other) {
      if (works(peer, {own, other})) return Path{own, other};
    }
  }
  return std::nullopt;
}

bool PathBook::has_other(Rank peer, const Path& path) const {
  const std::uint32_t peer_nics = peers_.at(peer);
  for (std::uint32_t own = 0; own < own_nics_; ++own) {
    for (std::uint32_t other = 0; other < peer_nics; ++other) {
      if (Path{own, other} != path && works(peer, {own, other})) return true;
    }
  }
  return false;
}

bool PathBook::mark_failed(Rank peer, const Path& path, Seconds now) {
  return failed_.try_emplace({peer, path}, now + probe_interval_, probe_interval_).second;
}

std::vector<PathBook::Failed> PathBook::take_due(Seconds now) {
  std::vector<Failed> due;
  for (auto& [failed, probe] : failed_) {
    if (probe.next > now) continue;
    due.push_back(failed);
    probe.interval = std::min(2 * probe.interval, kMaxBackOff * probe_interval_);
    probe.next = now + probe.interval;
  }
  return due;
}

std::optional<Seconds> PathBook::next_due() const {
  if (failed_.empty()) return std::nullopt;
  return std::ranges::min_element(failed_, {}, [](const auto& entry) { return entry.second.next; })
      ->second.next;
}

}  // namespace hoccl::hw
