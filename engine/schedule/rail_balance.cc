#include "engine/schedule/rail_balance.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "engine/base/check.h"

namespace hoccl::engine {
namespace {

constexpr std::size_t kDemandsPerWord = 64;
constexpr std::size_t kNowhere = std::numeric_limits<std::size_t>::max();
/// Part of the level that a rail may exceed it by to keep a demand whole.
constexpr std::int64_t kSlackParts = 64;
/// Rounds of evening out per rail. Most need none; the limit only bounds the time.
constexpr std::size_t kRoundsPerRail = 6;

}  // namespace

void RailBalance::fill(std::span<const RailDemand> demands, std::span<const RailEnds> rails,
                       Bytes chunk, int most) {
  demands_ = demands;
  rails_ = rails;
  chunk_ = chunk.count();
  most_ = most == 0 ? rails.size() : static_cast<std::size_t>(most);
  amounts_.assign(demands.size() * rails.size(), 0);
  words_ = (demands.size() + kDemandsPerWord - 1) / kDemandsPerWord;
  holders_.assign(words_ * rails.size(), 0);
  loads_.clear();
  for (const RailEnds& rail : rails) loads_.push_back(rail.already_carried);
  used_.assign(demands.size(), 0);
  level_ = lowest_level();
  for (std::size_t i = 0; i < demands.size(); ++i) place(i);
  even_out();
}

std::span<const RailBalance::Piece> RailBalance::pieces_of(std::size_t demand) {
  pieces_.clear();
  Bytes offset(0);
  std::size_t tail = kNowhere;
  const auto append = [&](std::size_t rail) {
    const Bytes size(amount(demand, rail));
    pieces_.push_back({static_cast<int>(rail), offset, size});
    offset += size;
  };
  std::size_t rail = static_cast<std::size_t>(demands_[demand].preferred);
  for (std::size_t found = 0; found < used_[demand]; rail = next_rail(rail)) {
    const std::int64_t size = amount(demand, rail);
    if (size == 0) continue;
    if (used_[demand] == 1) {
      append(rail);
      break;
    }
    ++found;
    if (size % chunk_ == 0) {
      append(rail);
    } else {
      tail = rail;
    }
  }
  if (tail != kNowhere) append(tail);
  return pieces_;
}

/// Calls visit(demand) for every demand with a part on the rail until it returns false.
template <class Visit>
void RailBalance::for_each_on(std::size_t rail, Visit visit) {
  for (std::size_t w = 0; w < words_; ++w) {
    for (std::uint64_t rest = holders_[rail * words_ + w]; rest != 0; rest &= rest - 1) {
      if (!visit(w * kDemandsPerWord + static_cast<std::size_t>(std::countr_zero(rest)))) return;
    }
  }
}

void RailBalance::put(std::size_t demand, std::size_t rail, std::int64_t size) {
  std::int64_t& held = amount(demand, rail);
  if (held == 0) {
    ++used_[demand];
    holders_[rail * words_ + demand / kDemandsPerWord] |= std::uint64_t{1}
                                                          << (demand % kDemandsPerWord);
  }
  held += size;
  loads_[rail] += size;
}

/// What the fullest rail must carry at least: the mean, more where much of it may not use a rail.
std::int64_t RailBalance::lowest_level() {
  const auto rails = static_cast<std::int64_t>(rails_.size());
  std::int64_t level = 0;
  // Divides only where that raises the level, which is rare.
  const auto share = [&level](std::int64_t size, std::int64_t parts) {
    if (level * parts < size) level = (size + parts - 1) / parts;
  };
  shunning_.assign(rails_.size(), 0);
  usable_.resize(amounts_.size());
  std::int64_t* usable = usable_.data();
  std::int64_t total = 0;
  for (const RailDemand& demand : demands_) {
    const std::int64_t size = demand.size.count();
    std::int64_t count = rails;
    for (std::size_t rail = 0; rail < rails_.size(); ++rail) {
      const bool may = may_use(demand, rails_[rail]);
      *usable++ = may ? -1 : 0;
      if (may) continue;
      shunning_[rail] += size;
      --count;
    }
    HOCCL_CHECK(count > 0, "{} bytes may not use any rail", size);
    share(size, std::min(count, static_cast<std::int64_t>(most_)));
    total += size;
  }
  for (const RailEnds& rail : rails_) total += rail.already_carried;
  share(total, rails);
  for (const std::int64_t size : shunning_) {
    if (size > 0 && rails > 1) share(size, rails - 1);
  }
  return level;
}

std::size_t RailBalance::emptiest(std::size_t demand) {
  std::size_t best = kNowhere;
  const bool only_used = used_[demand] == most_;
  for (std::size_t rail = 0; rail < rails_.size(); ++rail) {
    if (!usable(demand, rail)) continue;
    if (only_used && amount(demand, rail) == 0) continue;
    if (best == kNowhere || loads_[rail] < loads_[best]) best = rail;
  }
  return best;
}

void RailBalance::place(std::size_t index) {
  const RailDemand& demand = demands_[index];
  std::int64_t left = demand.size.count();
  if (left == 0) return;
  const std::int64_t slack = std::min(chunk_ / 2, level_ / kSlackParts);
  auto rail = static_cast<std::size_t>(demand.preferred);
  while (!usable(index, rail)) rail = next_rail(rail);
  if (loads_[rail] + left <= level_ + slack) return put(index, rail, left);
  if (left <= chunk_ || most_ == 1) return put(index, emptiest(index), left);
  for (std::size_t step = 0; step < rails_.size() && left > 0; ++step, rail = next_rail(rail)) {
    if (!usable(index, rail)) continue;
    const std::int64_t room = level_ - loads_[rail];
    const std::int64_t taken = left <= room + slack ? left : room / chunk_ * chunk_;
    if (taken <= 0) continue;
    if (used_[index] + 1 == most_ && taken < left) break;
    put(index, rail, taken);
    left -= taken;
  }
  // Only rails that it may not use have room.
  if (left > 0) put(index, emptiest(index), left);
}

/// Whether a part of the demand that is on another rail may go to this one.
bool RailBalance::may_take(std::size_t demand, std::size_t rail) {
  return usable(demand, rail) && (used_[demand] < most_ || amount(demand, rail) > 0);
}

void RailBalance::even_out() {
  for (std::size_t round = 0; round < kRoundsPerRail * rails_.size(); ++round) {
    const auto fullest =
        static_cast<std::size_t>(std::ranges::max_element(loads_) - loads_.begin());
    if (loads_[fullest] <= level_ + chunk_) return;
    const std::size_t least = search(fullest);
    const std::int64_t gap = loads_[fullest] - loads_[least];
    if (gap <= chunk_) return;
    const std::int64_t wanted = loads_[least] < level_
                                    ? std::min(loads_[fullest] - level_, level_ - loads_[least])
                                    : gap / 2;
    const std::int64_t size = std::min(wanted, widths_[least]);
    if (!move_along(least, std::max(chunk_, size / chunk_ * chunk_))) return;
  }
}

/// Finds the widest ways by which load can get from the fullest rail to others. Returns the first
/// that it meets with room for a chunk up to the level, else the emptiest.
std::size_t RailBalance::search(std::size_t fullest) {
  came_from_.assign(rails_.size(), kNowhere);
  widths_.assign(rails_.size(), 0);
  done_.assign(rails_.size(), false);
  came_from_[fullest] = fullest;
  widths_[fullest] = std::numeric_limits<std::int64_t>::max();
  std::size_t emptiest = fullest;
  for (std::size_t from = fullest; from != kNowhere;) {
    done_[from] = true;
    if (loads_[from] < loads_[emptiest]) emptiest = from;
    widen(from);
    if (const std::size_t found = roomiest(); found != kNowhere) return found;
    from = kNowhere;
    for (std::size_t rail = 0; rail < rails_.size(); ++rail) {
      if (done_[rail] || widths_[rail] == 0) continue;
      if (from == kNowhere || widths_[rail] > widths_[from]) from = rail;
    }
  }
  return emptiest;
}

/// Adds the ways that lead on from this rail.
void RailBalance::widen(std::size_t from) {
  movable_.assign(rails_.size(), 0);
  for_each_on(from, [&](std::size_t i) {
    const std::int64_t held = amount(i, from);
    if (used_[i] < most_) {
      const std::int64_t* usable = usable_.data() + i * rails_.size();
      for (std::size_t to = 0; to < rails_.size(); ++to) movable_[to] += held & usable[to];
    } else {
      for (std::size_t to = 0; to < rails_.size(); ++to) {
        if (may_take(i, to)) movable_[to] += held;
      }
    }
    return true;
  });
  for (std::size_t to = 0; to < rails_.size(); ++to) {
    const std::int64_t width = std::min(widths_[from], movable_[to]);
    if (done_[to] || width <= widths_[to]) continue;
    widths_[to] = width;
    came_from_[to] = from;
  }
}

/// Where most can be moved without exceeding the level, at least a chunk; kNowhere if nowhere.
std::size_t RailBalance::roomiest() const {
  std::size_t best = kNowhere;
  std::int64_t most = chunk_ - 1;
  for (std::size_t rail = 0; rail < rails_.size(); ++rail) {
    const std::int64_t fits = std::min(widths_[rail], level_ - loads_[rail]);
    if (fits <= most) continue;
    most = fits;
    best = rail;
  }
  return best;
}

/// Moves load one rail further on every step of the way that the search found to `last`. False when
/// the fullest rail lost nothing.
bool RailBalance::move_along(std::size_t last, std::int64_t size) {
  std::int64_t moved = 0;
  for (std::size_t to = last; came_from_[to] != to; to = came_from_[to]) {
    moved = move(came_from_[to], to, size);
  }
  return moved > 0;
}

std::int64_t RailBalance::move(std::size_t from, std::size_t to, std::int64_t size) {
  std::int64_t moved = 0;
  for_each_on(from, [&](std::size_t i) {
    if (!may_take(i, to)) return true;
    std::int64_t& held = amount(i, from);
    const std::int64_t left = size - moved;
    const std::int64_t taken = held <= left ? held : left / chunk_ * chunk_;
    if (taken == 0) return true;
    held -= taken;
    loads_[from] -= taken;
    if (held == 0) {
      --used_[i];
      holders_[from * words_ + i / kDemandsPerWord] &= ~(std::uint64_t{1} << (i % kDemandsPerWord));
    }
    put(i, to, taken);
    moved += taken;
    return moved < size;
  });
  return moved;
}

}  // namespace hoccl::engine
