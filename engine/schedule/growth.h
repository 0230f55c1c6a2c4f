#pragma once

#include <vector>

#include "engine/pattern/flow.h"
#include "engine/schedule/delivery.h"
#include "engine/schedule/plan.h"
#include "engine/schedule/violations.h"

namespace hoccl::engine {

/// Part of the verifier: a plan does not grow with the message size. What goes on where another
/// transfer ends, on the same path and passed on by the same paths, belongs into that one, unless a
/// flow begins there.
void check_growth(const Plan& plan, const std::vector<Flow>& flows, Violations& violations);

}  // namespace hoccl::engine
