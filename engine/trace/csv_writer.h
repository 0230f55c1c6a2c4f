#pragma once

#include <filesystem>
#include <iosfwd>
#include <span>

#include "engine/trace/trace.h"

namespace hoccl::engine {

/// `time_ns,rank,engine,event,flow,chunk,bytes`, two rows per event (`NAME_begin`, `NAME_end`), by
/// time. Flow and chunk are empty where the event has none.
void write_trace_csv(std::ostream& stream, std::span<const TraceEvent> events);
/// The same into a file that appears when complete; throws ConfigError naming the file.
void write_trace_csv(const std::filesystem::path& file, std::span<const TraceEvent> events);

}  // namespace hoccl::engine
