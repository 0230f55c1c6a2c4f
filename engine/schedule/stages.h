#pragma once

#include <span>

#include "engine/schedule/plan.h"

namespace hoccl::engine {

/// Gives each staged transfer, in order, the lowest stage in which neither of its NICs is used in
/// that direction. First fit needs at most twice the stages of the optimum less one (greedy edge
/// colouring). Throws ConfigError when more than kMaxStage are needed.
void assign_stages(std::span<Transfer> transfers, int nic_count);

}  // namespace hoccl::engine
