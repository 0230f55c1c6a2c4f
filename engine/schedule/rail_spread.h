#pragma once

#include <span>
#include <vector>

#include "engine/base/ids.h"
#include "engine/base/units.h"
#include "engine/schedule/forwarding.h"
#include "engine/schedule/rail_balance.h"
#include "engine/schedule/rail_map.h"

namespace hoccl::engine {

/// Spreads demands between two nodes over their pairs of NICs: those that pairing 0 can carry over
/// that, the rest over the first pairing that can.
class RailSpread {
 public:
  struct Piece {
    std::size_t demand = 0;
    int pairing = 0;
    int index = 0;  ///< of the pair in its pairing
    NicPair pair;
    Bytes offset;
    Bytes size;
  };

  /// The map must outlive this. `most` pairs per demand; 0: no limit.
  RailSpread(const RailMap& rails, Bytes chunk, int most)
      : rails_(rails), chunk_(chunk), most_(most) {}

  /// The first pairing with a pair that may carry the demand, or -1.
  [[nodiscard]] int first_pairing(NodeId source, NodeId target, const RailDemand& demand) const;
  /// How many of its pairs may.
  [[nodiscard]] int usable_pairs(NodeId source, NodeId target, const RailDemand& demand) const;

  /// By pairing, demand and offset; valid until the next call. Every demand has a pair. What counts
  /// as carried `already`, if anything, is by pair of pairing 0.
  std::span<const Piece> spread(NodeId source, NodeId target, std::span<const RailDemand> demands,
                                std::span<const std::int64_t> already = {});

 private:
  void choose_pairings(NodeId source, NodeId target, std::span<const RailDemand> demands);
  void spread_pairing(NodeId source, NodeId target, int pairing,
                      std::span<const RailDemand> demands, std::span<const std::int64_t> already);

  const RailMap& rails_;
  Bytes chunk_;
  int most_;
  RailBalance balance_;
  std::vector<int> pairings_;  // by demand
  // Of the pairing at hand.
  std::vector<NicPair> pairs_;
  std::vector<RailEnds> ends_;
  std::vector<std::size_t> chosen_;
  std::vector<RailDemand> demands_;
  std::vector<Piece> pieces_;
};

/// The rail to begin with, by local index of source and target among `rails`. Equal flows between
/// all ranks of two nodes then come out even without any being split: for each difference of the
/// indices, the sources take different rails, neither their own nor the targets'. `step`, from 1 to
/// rails - 1, says how far from the source's own.
int preferred_rail(int source, int target, int rails, int step);
/// A step that differs from node pair to node pair.
inline int preferred_step(int rails, int turn) { return rails < 2 ? 0 : 1 + turn % (rails - 1); }

}  // namespace hoccl::engine
