#pragma once

#include <filesystem>
#include <iosfwd>
#include <span>
#include <string_view>

#include "engine/trace/trace.h"

namespace hoccl::engine {

/// Chrome's trace event JSON, which ui.perfetto.dev opens: a process per rank, a thread per track,
/// and arrows along the legs of every chunk. Where events of one track overlap (several queue pairs
/// of a NIC), the track gets further rows, because the format only knows nested events.
void write_trace_perfetto(std::ostream& stream, std::span<const TraceEvent> events);

/// One of several timelines of one file. `name` comes before the names of its processes
/// ("simulated" of "simulated rank 0").
struct NamedTrace {
  std::string_view name;
  std::span<const TraceEvent> events;
};
/// One timeline after the other, on one time axis; nothing joins events of two.
void write_trace_perfetto(std::ostream& stream, std::span<const NamedTrace> traces);

/// One timeline into a file that appears when complete; throws ConfigError naming the file.
void write_trace_perfetto(const std::filesystem::path& file, std::span<const TraceEvent> events);

}  // namespace hoccl::engine
