#pragma once

#include <filesystem>
#include <iosfwd>
#include <span>

#include "engine/trace/trace.h"

namespace hoccl::engine {

/// Chrome's trace event JSON, which ui.perfetto.dev opens: a process per rank, a thread per track,
/// and arrows along the legs of every chunk. Where events of one track overlap (several queue pairs
/// of a NIC), the track gets further rows, because the format only knows nested events.
void write_trace_perfetto(std::ostream& stream, std::span<const TraceEvent> events);
/// The same into a file that appears when complete; throws ConfigError naming the file.
void write_trace_perfetto(const std::filesystem::path& file, std::span<const TraceEvent> events);

}  // namespace hoccl::engine
