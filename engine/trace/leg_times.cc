#include "engine/trace/leg_times.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

namespace hoccl::engine {
namespace {

using Intervals = std::vector<std::pair<Seconds, Seconds>>;

/// Length of the union.
Seconds covered(Intervals intervals) {
  std::ranges::sort(intervals);
  Seconds length{0.0};
  Seconds end = intervals.front().first;
  for (const auto& [from, to] : intervals) {
    length += std::max(to - std::max(from, end), Seconds(0.0));
    end = std::max(end, to);
  }
  return length;
}

}  // namespace

LegTimes leg_times(std::span<const TraceEvent> events) {
  LegTimes times;
  // One engine of a rank has several lanes, a NIC has one track.
  std::map<std::tuple<std::size_t, Rank, std::int32_t>, Intervals> busy;
  for (const TraceEvent& event : events) {
    if (event.track.kind == TrackKind::kNicReceive) continue;
    const auto* name = std::ranges::find(kLegNames, event.name);
    if (name == kLegNames.end()) continue;
    const auto leg = static_cast<std::size_t>(name - kLegNames.begin());
    const bool copies = event.track.kind == TrackKind::kCopyEngine;
    busy[{leg, event.track.rank, copies ? 0 : event.track.index}].emplace_back(event.begin,
                                                                               event.end);
    times[leg].count += 1;
  }
  for (const auto& [key, intervals] : busy) times[std::get<0>(key)].busy += covered(intervals);
  return times;
}

}  // namespace hoccl::engine
