#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "engine/trace/trace.h"

namespace hoccl::cli {

/// The key "trace" of a result: its legs, an array of whole numbers per column, times in ns.
nlohmann::ordered_json recorded_trace(std::span<const engine::TraceEvent> legs);

/// Inverse. `path` is its place in the file. Throws ConfigError naming file and key.
std::vector<engine::TraceEvent> read_recorded_trace(const nlohmann::json& trace,
                                                    const std::string& file,
                                                    const std::string& path, int rank_count);

/// The legs among the events, a wire leg once, at the sender, with time 0 where the first begins:
/// what a run records of itself, so that a simulation can be laid beside it.
std::vector<engine::TraceEvent> legs_from_first(std::span<const engine::TraceEvent> events);

}  // namespace hoccl::cli
