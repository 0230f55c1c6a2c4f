#pragma once

#include <string>
#include <vector>

#include "engine/pattern/flow.h"
#include "engine/schedule/delivery.h"
#include "engine/schedule/plan.h"
#include "engine/schedule/violations.h"

namespace hoccl::engine {

/// Part of the verifier: a line for every range of bytes that is delivered twice, not at all, from
/// the wrong place, or without being asked for. Where a transfer comes after others, the place that
/// counts is the one its bytes come from in the first place. Values must be in range.
void check_coverage(const Plan& plan, const std::vector<Delivery>& deliveries,
                    const std::vector<Flow>& flows, Violations& violations);

/// What the plan itself seems to be for, when nothing else tells: per pair of ranks, from the first
/// byte to the last without gaps.
std::vector<Flow> implied_flows(const std::vector<Delivery>& deliveries);

}  // namespace hoccl::engine
