#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "engine/schedule/plan.h"

namespace hoccl::engine {

inline constexpr std::size_t kNoTransfer = std::numeric_limits<std::size_t>::max();

/// By position in Plan::transfers: the position of the transfer that it comes `after`, or
/// kNoTransfer where it comes after none or after an id that is not there. Ids must ascend.
std::vector<std::size_t> predecessors_of(const Plan& plan);

}  // namespace hoccl::engine
