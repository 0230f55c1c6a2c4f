#pragma once

#include <optional>
#include <vector>

#include "engine/pattern/pattern.h"
#include "engine/schedule/delivery.h"
#include "engine/schedule/plan.h"

namespace hoccl::engine {

/// The pattern a plan names, when its name, its size and who takes part in it say enough to build
/// it. What the name leaves open is read from the deliveries: the ranks of the group, the root, and
/// whether ranks move their own share. So a plan from which a whole rank is missing passes for one
/// of a smaller group; who has the pattern should not ask.
std::optional<Pattern> named_pattern(const Plan& plan, const std::vector<Delivery>& deliveries);

}  // namespace hoccl::engine
