#pragma once

#include <string>

#include "engine/base/random.h"
#include "tests/fuzz/schedule_case.h"

namespace hoccl::engine {

/// Spoils a good plan of the case in one of many ways and says how; empty when this draw fits no
/// transfer of the plan.
std::string spoil(Random& random, const ScheduleCase& schedule_case, Plan& plan);

/// Spoils plans of this case in a few ways: the verifier must find something every time, and name a
/// transfer, a rank or the plan. What is wrong, or empty.
std::string check_mutations(Random& random, const ScheduleCase& schedule_case, const Plan& plan);

}  // namespace hoccl::engine
