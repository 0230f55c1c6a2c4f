#pragma once

#include <cstddef>
#include <vector>

#include "engine/schedule/plan.h"

namespace hoccl::engine {

/// Part of the verifier: transfers, by position, that wait for each other in a circle, or nothing.
/// Chunks of a transfer wait for the same chunks of the one it comes `after`, and for whatever
/// belongs to lower stages at their two NICs; transfers of one stage that share the pair do not
/// wait for each other, and an executor skips what cannot go yet. Slots add no edge: a send slot is
/// handed out only with the receive slots behind it, and the delivers that free those wait for no
/// slot. Nor do further targets: ranks are ready for the whole plan at once. Values must be in
/// range.
std::vector<std::size_t> find_wait_cycle(const Plan& plan);

}  // namespace hoccl::engine
