#include "engine/trace/csv_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "engine/trace/atomic_file.h"
#include "engine/trace/trace_recorder.h"
#include "engine/trace/track_name.h"

namespace hoccl::engine {
namespace {

// At one instant what ends makes room for what begins, and what takes no time ends last.
enum class Edge : std::uint8_t { kEnd, kBegin, kEndOfInstant };

struct Row {
  std::int64_t time_ns;
  Edge edge;
  std::size_t event;
};

std::vector<Row> rows_of(std::span<const TraceEvent> events) {
  std::vector<Row> rows;
  rows.reserve(2 * events.size());
  for (std::size_t i = 0; i < events.size(); ++i) {
    const std::int64_t begin = nanoseconds(events[i].begin);
    const std::int64_t end = nanoseconds(events[i].end);
    rows.push_back({begin, Edge::kBegin, i});
    rows.push_back({end, end > begin ? Edge::kEnd : Edge::kEndOfInstant, i});
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Row& left, const Row& right) {
    return std::tie(left.time_ns, left.edge) < std::tie(right.time_ns, right.edge);
  });
  return rows;
}

}  // namespace

void write_trace_csv(std::ostream& stream, std::span<const TraceEvent> events) {
  const std::vector<TraceEvent> sorted = in_file_order(events);
  std::map<Track, std::string> names;
  fmt::memory_buffer text;
  const auto out = std::back_inserter(text);
  fmt::format_to(out, "time_ns,rank,engine,event,flow,chunk,bytes\n");
  for (const Row& row : rows_of(sorted)) {
    const TraceEvent& event = sorted[row.event];
    auto name = names.try_emplace(event.track).first;
    if (name->second.empty()) name->second = track_name(event.track);
    fmt::format_to(out, "{},{},{},{}_{},", row.time_ns, event.track.rank, name->second, event.name,
                   row.edge == Edge::kBegin ? "begin" : "end");
    if (!event.flow.is_none()) fmt::format_to(out, "{},{}", event.flow, event.chunk);
    if (event.flow.is_none()) fmt::format_to(out, ",");
    fmt::format_to(out, ",{}\n", event.size.count());
    constexpr std::size_t kFlushAt = 1 << 16;
    if (text.size() < kFlushAt) continue;
    stream.write(text.data(), static_cast<std::streamsize>(text.size()));
    text.clear();
  }
  stream.write(text.data(), static_cast<std::streamsize>(text.size()));
}

void write_trace_csv(const std::filesystem::path& file, std::span<const TraceEvent> events) {
  AtomicFile output(file);
  write_trace_csv(output.stream(), events);
  output.commit();
}

}  // namespace hoccl::engine
