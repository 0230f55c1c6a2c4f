#pragma once

#include <string>
#include <string_view>

#include "engine/fabric.h"
#include "engine/trace/trace.h"

namespace hoccl::engine {

/// The track of one lane of a copy engine of the rank's GPU.
Track copy_engine_track(Rank rank, Lane lane);
/// Inverse of copy_engine_track for its index.
Lane lane_of(const Track& track);

/// Name of a track within its rank, as in the `engine` column of the CSV: "peer/0", "nic 3 send",
/// "proxy", "stream 0", "sm 2".
std::string track_name(const Track& track);

/// Name of a copy's trace event: "stage_in", "direct" or "deliver". Static storage.
std::string_view event_name(Leg leg);

}  // namespace hoccl::engine
