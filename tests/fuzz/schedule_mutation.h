#pragma once

#include <string>

#include "engine/base/random.h"
#include "tests/fuzz/schedule_case.h"

namespace hoccl::engine {

/// Spoils plans of this case in a few ways (`applied` counts them): the verifier must find
/// something every time, and name a transfer, a rank or the plan. What is wrong, or empty.
std::string check_mutations(Random& random, const ScheduleCase& schedule_case, const Plan& plan,
                            int& applied);

}  // namespace hoccl::engine
