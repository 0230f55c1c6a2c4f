#include "engine/schedule/predecessors.h"

#include <algorithm>

namespace hoccl::engine {

std::vector<std::size_t> predecessors_of(const Plan& plan) {
  std::vector<std::size_t> result(plan.transfers.size(), kNoTransfer);
  for (std::size_t i = 0; i < result.size(); ++i) {
    const FlowId after = plan.transfers[i].after;
    if (after.is_none()) continue;
    const auto found = std::ranges::lower_bound(plan.transfers, after, {}, &Transfer::id);
    if (found == plan.transfers.end() || found->id != after) continue;
    result[i] = static_cast<std::size_t>(found - plan.transfers.begin());
  }
  return result;
}

}  // namespace hoccl::engine
