#include "engine/trace/trace_recorder.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace hoccl::engine {

std::int64_t nanoseconds(Seconds time) {
  return static_cast<std::int64_t>(std::llround(time.count() * 1e9));
}

std::vector<TraceEvent> in_file_order(std::span<const TraceEvent> events) {
  std::vector<TraceEvent> sorted(events.begin(), events.end());
  const auto key = [](const TraceEvent& event) {
    return std::tuple(nanoseconds(event.begin), nanoseconds(event.end), event.track, event.name,
                      event.operation, event.flow, event.chunk);
  };
  std::stable_sort(
      sorted.begin(), sorted.end(),
      [&key](const TraceEvent& left, const TraceEvent& right) { return key(left) < key(right); });
  return sorted;
}

}  // namespace hoccl::engine
