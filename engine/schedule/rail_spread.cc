#include "engine/schedule/rail_spread.h"

#include <algorithm>

#include "engine/base/check.h"

namespace hoccl::engine {

int preferred_rail(int source, int target, int rails, int step) {
  if (rails == 1) return 0;
  // Divisions only where there are more GPUs than rails: this runs once per flow.
  const auto wrapped = [rails](int value) { return value < rails ? value : value % rails; };
  const int own = wrapped(source);
  const int difference = wrapped(wrapped(target) - own + rails);
  if (step == difference) step = step + 1 == rails ? 1 : step + 1;
  return wrapped(own + step);
}

int RailSpread::first_pairing(NodeId source, NodeId target, const RailDemand& demand) const {
  for (int pairing = 0; pairing < rails_.pairing_count(source, target); ++pairing) {
    for (int i = 0; i < rails_.pair_count(source, target); ++i) {
      if (may_use(demand, rails_.ends_of(rails_.pair(source, target, pairing, i)))) return pairing;
    }
  }
  return -1;
}

int RailSpread::usable_pairs(NodeId source, NodeId target, const RailDemand& demand) const {
  const int pairing = first_pairing(source, target, demand);
  int usable = 0;
  for (int i = 0; pairing >= 0 && i < rails_.pair_count(source, target); ++i) {
    if (may_use(demand, rails_.ends_of(rails_.pair(source, target, pairing, i)))) ++usable;
  }
  return usable;
}

std::span<const RailSpread::Piece> RailSpread::spread(NodeId source, NodeId target,
                                                      std::span<const RailDemand> demands,
                                                      std::span<const std::int64_t> already) {
  pieces_.clear();
  if (rails_.nodes_are_ports()) {
    spread_pairing(source, target, 0, demands, already);
    return pieces_;
  }
  choose_pairings(source, target, demands);
  for (int pairing = 0; pairing < rails_.pairing_count(source, target); ++pairing) {
    chosen_.clear();
    demands_.clear();
    for (std::size_t i = 0; i < demands.size(); ++i) {
      if (pairings_[i] != pairing) continue;
      chosen_.push_back(i);
      demands_.push_back(demands[i]);
    }
    if (chosen_.empty()) continue;
    const std::size_t begin = pieces_.size();
    spread_pairing(source, target, pairing, demands_, {});
    for (std::size_t i = begin; i < pieces_.size(); ++i) {
      pieces_[i].demand = chosen_[pieces_[i].demand];
    }
  }
  return pieces_;
}

void RailSpread::choose_pairings(NodeId source, NodeId target,
                                 std::span<const RailDemand> demands) {
  pairings_.assign(demands.size(), 0);
  for (std::size_t i = 0; i < demands.size(); ++i) {
    pairings_[i] = first_pairing(source, target, demands[i]);
    HOCCL_CHECK(pairings_[i] >= 0, "no pair of NICs from node {} to {}", source, target);
  }
}

void RailSpread::spread_pairing(NodeId source, NodeId target, int pairing,
                                std::span<const RailDemand> demands,
                                std::span<const std::int64_t> already) {
  pairs_.clear();
  ends_.clear();
  for (int i = 0; i < rails_.pair_count(source, target); ++i) {
    pairs_.push_back(rails_.pair(source, target, pairing, i));
    ends_.push_back(rails_.ends_of(pairs_.back()));
    if (!already.empty()) ends_.back().already_carried = already[static_cast<std::size_t>(i)];
  }
  balance_.fill(demands, ends_, chunk_, most_);
  for (std::size_t i = 0; i < demands.size(); ++i) {
    for (const RailBalance::Piece& piece : balance_.pieces_of(i)) {
      pieces_.push_back({.demand = i,
                         .pairing = pairing,
                         .index = piece.rail,
                         .pair = pairs_[static_cast<std::size_t>(piece.rail)],
                         .offset = piece.offset,
                         .size = piece.size});
    }
  }
}

}  // namespace hoccl::engine
