#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/base/units.h"

namespace hoccl::engine {

/// In whose memory the slots at the two ends of a rail lie: physical GPUs, or kNoGpu for a host.
struct RailEnds {
  int send_gpu = -1;
  int receive_gpu = -1;
  std::int64_t already_carried = 0;  ///< bytes that count as its load from the start
};
inline constexpr int kNoGpu = -1;

/// Bytes to be carried over some of the rails.
struct RailDemand {
  Bytes size;
  int source_gpu = kNoGpu;  ///< physical; no rail whose slots it would have to copy to in itself
  int target_gpu = kNoGpu;  ///< the same where the bytes arrive
  int preferred = 0;        ///< rail to start with
};

inline bool may_use(const RailDemand& demand, const RailEnds& rail) {
  return (rail.send_gpu == kNoGpu || rail.send_gpu != demand.source_gpu) &&
         (rail.receive_gpu == kNoGpu || rail.receive_gpu != demand.target_gpu);
}

/// Spreads demands over rails so that the fullest rail carries as little as possible, to within a
/// chunk: filled one by one up to the level that the total allows, then evened out along chains of
/// rails (augmenting paths). Whole chunks: only the last piece of a demand may end with a short
/// one, and what is below a chunk stays whole. Keeps its memory from one call to the next.
class RailBalance {
 public:
  struct Piece {
    int rail = 0;
    Bytes offset;
    Bytes size;
  };

  /// Every demand may use at least one rail. `most` rails per demand at most; 0: no limit.
  void fill(std::span<const RailDemand> demands, std::span<const RailEnds> rails, Bytes chunk,
            int most);

  /// Where that demand went, by offset; in the same place until the next call.
  std::span<const Piece> pieces_of(std::size_t demand);
  /// With what it had carried already.
  [[nodiscard]] Bytes load_of(int rail) const {
    return Bytes(loads_[static_cast<std::size_t>(rail)]);
  }

 private:
  std::int64_t& amount(std::size_t demand, std::size_t rail) {
    return amounts_[demand * rails_.size() + rail];
  }
  [[nodiscard]] bool usable(std::size_t demand, std::size_t rail) const {
    return usable_[demand * rails_.size() + rail] != 0;
  }
  [[nodiscard]] std::size_t next_rail(std::size_t rail) const {
    return rail + 1 == rails_.size() ? 0 : rail + 1;
  }
  template <class Visit>
  void for_each_on(std::size_t rail, Visit visit);
  void put(std::size_t demand, std::size_t rail, std::int64_t size);
  [[nodiscard]] std::int64_t lowest_level();
  void place(std::size_t demand);
  [[nodiscard]] std::size_t emptiest(std::size_t demand);
  [[nodiscard]] bool may_take(std::size_t demand, std::size_t rail);
  void even_out();
  std::size_t search(std::size_t fullest);
  void widen(std::size_t from);
  [[nodiscard]] std::size_t roomiest() const;
  bool move_along(std::size_t last, std::int64_t size);
  std::int64_t move(std::size_t from, std::size_t to, std::int64_t size);

  std::span<const RailDemand> demands_;
  std::span<const RailEnds> rails_;
  std::int64_t chunk_ = 1;
  std::size_t most_ = 0;
  std::int64_t level_ = 0;
  std::vector<std::int64_t> amounts_;   // by demand, then rail
  std::vector<std::int64_t> usable_;    // the same: all bits where it may use the rail, else 0
  std::vector<std::uint64_t> holders_;  // by rail: a bit per demand that has a part there
  std::size_t words_ = 0;               // of those bits per rail
  std::vector<std::int64_t> loads_;
  std::vector<std::size_t> used_;       // rails per demand
  std::vector<std::int64_t> shunning_;  // by rail: bytes that may not use it
  // Of the search: by rail, how much may move there from the one at hand, how much can get there
  // in all, and from which rail.
  std::vector<std::int64_t> movable_;
  std::vector<std::int64_t> widths_;
  std::vector<std::size_t> came_from_;
  std::vector<bool> done_;
  std::vector<Piece> pieces_;
};

}  // namespace hoccl::engine
