#pragma once

#include <cstddef>
#include <list>
#include <memory>

#include "engine/schedule/decomposition.h"
#include "engine/schedule/plan.h"
#include "engine/schedule/stage_table.h"

namespace hoccl::engine {

/// Stages of the matrices of ports seen lately. An AllToAllv whose ranks' shares move within the
/// nodes, but not between them, needs no new ones.
class StageMemo {
 public:
  /// `capacity` of at least 1 matrix.
  explicit StageMemo(std::size_t capacity);

  /// The stages of this matrix, decomposed now if they are not here.
  std::shared_ptr<const StageTable> get(const PortMatrix& matrix, Order order, double quantise);

  [[nodiscard]] std::int64_t hits() const { return hits_; }

 private:
  struct Entry {
    PortMatrix matrix;
    Order order;
    double quantise;
    std::shared_ptr<const StageTable> table;
  };

  std::size_t capacity_;
  std::list<Entry> entries_;  // most recently used first
  std::int64_t hits_ = 0;
};

}  // namespace hoccl::engine
