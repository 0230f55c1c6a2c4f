#pragma once

#include <span>
#include <vector>

#include "engine/trace/trace.h"

namespace hoccl::engine {

/// Keeps every event in memory, for the writers and for tests.
class TraceRecorder : public TraceSink {
 public:
  void record(const TraceEvent& event) override { events_.push_back(event); }

  /// In the order in which they were recorded.
  [[nodiscard]] std::span<const TraceEvent> events() const { return events_; }
  void clear() { events_.clear(); }

 private:
  std::vector<TraceEvent> events_;
};

/// Whole nanoseconds, the resolution of the files. Rounding begin and end the same way keeps
/// neighbours on a track from overlapping.
std::int64_t nanoseconds(Seconds time);

/// The events by begin, then end, track, name and chunk: an order that does not depend on who
/// recorded first.
std::vector<TraceEvent> in_file_order(std::span<const TraceEvent> events);

}  // namespace hoccl::engine
