#include "engine/schedule/stage_memo.h"

#include <algorithm>

#include "engine/base/check.h"

namespace hoccl::engine {

StageMemo::StageMemo(std::size_t capacity) : capacity_(capacity) {
  HOCCL_CHECK(capacity_ >= 1, "stage memo of {} matrices", capacity_);
}

std::shared_ptr<const StageTable> StageMemo::get(const PortMatrix& matrix, Order order,
                                                 double quantise) {
  // Comparing is cheap: other matrices differ early.
  const auto found = std::ranges::find_if(entries_, [&](const Entry& entry) {
    return entry.order == order && entry.quantise == quantise &&
           entry.matrix.rows() == matrix.rows() &&
           std::equal(matrix.data(), matrix.data() + matrix.size(), entry.matrix.data());
  });
  if (found != entries_.end()) {
    ++hits_;
    entries_.splice(entries_.begin(), entries_, found);
    return entries_.front().table;
  }
  auto table = std::make_shared<const StageTable>(matrix, decompose(matrix, order, quantise));
  if (entries_.size() == capacity_) entries_.pop_back();
  entries_.push_front({matrix, order, quantise, table});
  return table;
}

}  // namespace hoccl::engine
