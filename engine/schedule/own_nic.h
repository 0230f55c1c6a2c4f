#pragma once

#include <vector>

#include "engine/base/ids.h"
#include "engine/pattern/pattern.h"
#include "engine/schedule/compile.h"
#include "engine/schedule/forwarding.h"
#include "engine/schedule/plan.h"
#include "engine/schedule/rail_map.h"
#include "engine/topology/topology.h"

namespace hoccl::engine {

/// Pairs of a NIC next to the source's GPU and one next to the target's, on one rail where both
/// have as many: `rails` of them, or with 0 as many as there are. Other partners begin at other
/// NICs, so that a GPU with more of them uses all. Throws ConfigError when there is none, or fewer.
std::vector<NicPair> own_nic_pairs(const Topology& topology, Rank source, Rank target, int rails);

/// Adds the transfers of a pattern to a plan that has only its head. Bytes cross between nodes from
/// user buffer to user buffer; of a flow to several ranks once per node, to one of its targets
/// there, which passes them on to the others. Throws ConfigError.
void build_own_nic(Plan& plan, const Pattern& pattern, const RailMap& rails,
                   const CompileOptions& options);

}  // namespace hoccl::engine
