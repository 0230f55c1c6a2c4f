#pragma once

#include <string>

#include "engine/schedule/plan.h"
#include "tests/fuzz/schedule_case.h"

namespace hoccl::engine {

// Each says what is wrong, in one line; empty when all is well.

/// The verifier has nothing against the plan.
std::string check_violations(const ScheduleCase& schedule_case, const Plan& plan);

/// Where stages are to be as few and short as can be, their lengths add up to what the busiest port
/// sends or receives (and no more than quantising allows).
std::string check_total(const ScheduleCase& schedule_case, const Plan& plan);

/// Every node gets exactly the transfers that touch it, also straight from an AllToAllv's matrix.
std::string check_node_plans(const ScheduleCase& schedule_case, const Plan& plan);

/// A plan was refused with this text: in one line, and for a reason that is there.
std::string check_refusal(const ScheduleCase& schedule_case, const std::string& text);

/// The whole plan or its parts, run against an adversary.
std::string check_run(const ScheduleCase& schedule_case, const Plan& plan);

}  // namespace hoccl::engine
