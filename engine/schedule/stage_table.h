#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/schedule/decomposition.h"
#include "engine/schedule/plan.h"

namespace hoccl::engine {

/// Which stages each pair of ports has, in the form in which a plan names them.
class StageTable {
 public:
  struct Entry {
    std::int32_t stage = 0;
    std::int32_t stage_list = -1;
  };

  /// `rounds` of at least 1: all stages are gone through that often, each time for an equal share,
  /// so that what a port sends to several others goes to them side by side.
  StageTable(const PortMatrix& matrix, const Decomposition& decomposition, std::int32_t rounds = 1);
  /// Stage 0 for all.
  StageTable() = default;

  /// A pair that the matrix has work for. One stage where that is all it has, else a list.
  [[nodiscard]] Entry at(int source, int target) const;
  /// The same one round later: for what first comes over the network itself, in any stage of its
  /// round, so that nothing has a lower stage than what it waits for.
  [[nodiscard]] Entry late_at(int source, int target) const;

  /// The lists that are wanted, of those that the entries name, in the order of their numbers. Late
  /// ones have the higher half.
  [[nodiscard]] std::vector<StageList> lists(const std::vector<bool>& wanted) const;
  [[nodiscard]] std::size_t list_count() const { return 2 * static_cast<std::size_t>(list_count_); }
  /// Without late ones.
  [[nodiscard]] std::int32_t stage_count() const { return rounds_ * round_length(); }

 private:
  [[nodiscard]] std::size_t index(int source, int target) const {
    return static_cast<std::size_t>(source) * static_cast<std::size_t>(decomposition_.ports) +
           static_cast<std::size_t>(target);
  }
  [[nodiscard]] std::int32_t round_length() const {
    return static_cast<std::int32_t>(decomposition_.stage_count());
  }
  [[nodiscard]] std::vector<StageList> round_lists(const std::vector<bool>& wanted) const;
  [[nodiscard]] StageList repeated(const StageList& round, std::int32_t first_round) const;

  PortMatrix matrix_;
  Decomposition decomposition_;
  std::int32_t rounds_ = 1;
  std::vector<Entry> entries_;       // by pair
  std::vector<std::int32_t> marks_;  // the same: stages in a round
  std::int32_t list_count_ = 0;
};

}  // namespace hoccl::engine
