#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "engine/base/ids.h"
#include "engine/base/units.h"

namespace hoccl::hw {

/// A NIC of this rank and one of a peer's, by index.
struct Path {
  std::uint32_t own = 0;
  std::uint32_t peer = 0;

  auto operator<=>(const Path&) const = default;
};

/// Which paths to each peer work, as far as is known, and when those that do not are to be tried
/// again.
class PathBook {
 public:
  PathBook(std::uint32_t own_nics, engine::Seconds probe_interval)
      : own_nics_(own_nics), probe_interval_(probe_interval) {}

  void add_peer(engine::Rank peer, std::uint32_t nics) { peers_[peer] = nics; }
  void forget_peer(engine::Rank peer);

  /// The preferred one if it works; else one along a rail (NICs of equal index are joined by rail
  /// networks, others perhaps not); else any. Nothing: none works.
  [[nodiscard]] std::optional<Path> choose(engine::Rank peer, const Path& preferred) const;
  [[nodiscard]] bool works(engine::Rank peer, const Path& path) const {
    return !failed_.contains({peer, path});
  }
  /// Another path to the peer works.
  [[nodiscard]] bool has_other(engine::Rank peer, const Path& path) const;
  /// Returns whether that is news.
  bool mark_failed(engine::Rank peer, const Path& path, engine::Seconds now);
  void mark_working(engine::Rank peer, const Path& path) { failed_.erase({peer, path}); }

  using Failed = std::pair<engine::Rank, Path>;
  /// Those that are to be tried now. Each time the next one is twice as far away, up to kMaxBackOff
  /// intervals: to try costs both ends, where a neighbour does not answer a second.
  std::vector<Failed> take_due(engine::Seconds now);
  /// When take_due() has something.
  [[nodiscard]] std::optional<engine::Seconds> next_due() const;

 private:
  static constexpr double kMaxBackOff = 16.0;
  struct Probe {
    engine::Seconds next;
    engine::Seconds interval;
  };

  const std::uint32_t own_nics_;
  const engine::Seconds probe_interval_;
  std::map<engine::Rank, std::uint32_t> peers_;  ///< how many NICs it has
  std::map<Failed, Probe> failed_;
};

}  // namespace hoccl::hw
