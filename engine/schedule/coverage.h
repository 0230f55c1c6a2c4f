#pragma once

#include <string>
#include <vector>

#include "engine/pattern/pattern.h"
#include "engine/schedule/plan.h"

namespace hoccl::engine {

/// Part of the verifier: appends a line for every range of bytes that a plan delivers twice, not at
/// all, from the wrong place, or without being asked to. Values must be in range. Null pattern: see
/// find_violations.
void check_coverage(const Plan& plan, const Pattern* pattern, std::vector<std::string>& violations);

}  // namespace hoccl::engine
