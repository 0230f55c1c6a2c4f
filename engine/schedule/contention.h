#pragma once

#include "engine/schedule/plan.h"
#include "engine/schedule/violations.h"

namespace hoccl::engine {

/// Part of the verifier: unless the order is local, a NIC sends to at most one NIC and receives
/// from at most one in a stage. Transfers may share the pair. Values must be in range.
void check_contention(const Plan& plan, Violations& violations);

}  // namespace hoccl::engine
