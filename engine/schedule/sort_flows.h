#pragma once

#include <functional>
#include <vector>

#include "engine/pattern/pattern.h"
#include "engine/schedule/compile.h"
#include "engine/schedule/demand.h"
#include "engine/schedule/multicast.h"
#include "engine/schedule/rail_map.h"

namespace hoccl::engine {

/// Calls `add` for what a pattern sends to single ranks, own shares too, and returns the rest: with
/// algorithm p2p nothing. Left out are own shares that a multicast's target gives back, and flows
/// of no bytes.
std::vector<Multicast> sort_flows(const Pattern& pattern, const RailMap& rails,
                                  const CompileOptions& options,
                                  const std::function<void(const PairFlow&)>& add);

}  // namespace hoccl::engine
