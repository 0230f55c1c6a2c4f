#pragma once

#include <cstddef>
#include <vector>

#include "engine/schedule/plan.h"

namespace hoccl::engine {

/// Part of the verifier: transfers, by number, that wait for each other in a circle, or nothing.
/// A staged transfer waits for the one before it in its source's program (the plan's order) and for
/// those of lower stages at its two NICs. Slots add no edge: a send slot is handed out only with a
/// receive slot behind it, and the delivers that free that one wait for no slot. Nor do further
/// targets: ranks are ready for the whole plan at once.
std::vector<std::size_t> find_wait_cycle(const Plan& plan);

}  // namespace hoccl::engine
