#pragma once

#include <string>

#include "engine/pattern/pattern.h"
#include "engine/schedule/plan.h"
#include "engine/topology/topology.h"

namespace hoccl::engine {

/// Carries out a plan's transfers, one after the other in the order of their ids, on buffers that
/// remember where every byte came from, and compares with what the pattern wants. Knows nothing of
/// the verifier. Returns the first thing that is wrong, or "".
std::string replay(const Plan& plan, const Pattern& pattern, const Topology& topology);

/// Unless the plan's order is kLocal: no NIC sends to two NICs in one stage or receives from two.
/// The first fault, or "".
std::string contention(const Plan& plan);

}  // namespace hoccl::engine
