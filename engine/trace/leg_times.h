#pragma once

#include <span>

#include "engine/run_result.h"
#include "engine/trace/trace.h"

namespace hoccl::engine {

/// The legs among the events. A wire leg counts once, at the sender.
LegTimes leg_times(std::span<const TraceEvent> events);

}  // namespace hoccl::engine
