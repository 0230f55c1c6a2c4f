#pragma once

#include "engine/schedule/plan.h"
#include "engine/schedule/violations.h"
#include "engine/topology/topology.h"

namespace hoccl::engine {

/// Part of the verifier: NICs and places on the nodes they serve, no leg within one GPU, branches
/// to different nodes, and what comes after another transfer takes up exactly what that one
/// delivers. Values must be in range.
void check_paths(const Plan& plan, const Topology& topology, Violations& violations);

}  // namespace hoccl::engine
