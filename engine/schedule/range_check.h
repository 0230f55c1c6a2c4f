#pragma once

#include "engine/schedule/plan.h"
#include "engine/schedule/violations.h"
#include "engine/topology/topology.h"

namespace hoccl::engine {

/// Part of the verifier: every value of the plan is in range, ids ascend, and each route has the
/// fields it needs and no other. The other parts index by what this one has passed.
void check_ranges(const Plan& plan, const Topology& topology, Violations& violations);

}  // namespace hoccl::engine
