#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/schedule/plan.h"

namespace hoccl::engine {

/// A pair of NICs that is busy in a stage.
struct StageUse {
  NicId send;
  NicId receive;
  std::int32_t stage = 0;
  std::size_t transfer = 0;  ///< position of the first transfer that uses it

  auto operator<=>(const StageUse&) const = default;
};

/// Every pair and stage of what crosses the network, each once, in ascending order, without those
/// at the positions marked in `left_out` (empty: none). Legs that share pair and stage list are
/// expanded once, so that this stays fast for plans of many transfers.
std::vector<StageUse> stage_uses(const Plan& plan, const std::vector<bool>& left_out = {});

}  // namespace hoccl::engine
