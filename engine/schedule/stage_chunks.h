#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "engine/schedule/plan.h"

namespace hoccl::engine {

/// What goes from one NIC to another in one stage.
struct StageChunks {
  std::int32_t stage = 0;
  NicId send;
  NicId receive;
  std::int64_t chunks = 0;

  auto operator<=>(const StageChunks&) const = default;
};

/// All of a plan that the verifier has passed, in ascending order.
std::vector<StageChunks> stage_chunks(const Plan& plan);

}  // namespace hoccl::engine
