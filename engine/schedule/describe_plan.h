#pragma once

#include <string>

#include "engine/schedule/plan.h"
#include "engine/topology/topology.h"

namespace hoccl::engine {

// Parts of `describe` that tell of the plan itself.

std::string describe_head(const Plan& plan);
std::string describe_transfers(const Plan& plan);
std::string describe_stages(const Plan& plan, const Topology& topology);

}  // namespace hoccl::engine
