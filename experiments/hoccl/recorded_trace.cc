#include "experiments/hoccl/recorded_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>

#include "engine/base/check.h"
#include "engine/base/strict_json.h"
#include "engine/fabric.h"
#include "engine/run_result.h"
#include "engine/trace/trace_recorder.h"
#include "engine/trace/track_name.h"

namespace hoccl::cli {

using engine::Seconds;
using engine::StrictJson;
using engine::TraceEvent;
using engine::TrackKind;

namespace {

constexpr std::int64_t kAnyNumber = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kAnyId = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kAnyShort = std::numeric_limits<std::uint16_t>::max();
/// Above any time that anybody waited for, and exact as a double.
constexpr std::int64_t kMostNanoseconds = 1'000'000'000'000'000;

/// Where legs happen, in the file's numbering.
constexpr std::array<TrackKind, 3> kLegTracks = {TrackKind::kCopyEngine, TrackKind::kNicSend,
                                                 TrackKind::kNicReceive};

std::int64_t position_of_leg(const TraceEvent& event) {
  const auto* name = std::ranges::find(engine::kLegNames, event.name);
  HOCCL_CHECK(name != engine::kLegNames.end(), "event '{}' is no leg", event.name);
  return name - engine::kLegNames.begin();
}

std::int64_t position_of_track(const TraceEvent& event) {
  const auto* kind = std::ranges::find(kLegTracks, event.track.kind);
  HOCCL_CHECK(kind != kLegTracks.end(), "leg '{}' is on no copy engine and no NIC", event.name);
  return kind - kLegTracks.begin();
}

struct Column {
  std::string_view name;
  std::int64_t most = 0;
  std::int64_t (*value)(const TraceEvent&) = nullptr;
};

enum : std::size_t {
  kRank,
  kTrack,
  kIndex,
  kLeg,
  kBegin,
  kEnd,
  kFlow,
  kChunk,
  kBytes,
  kCommunicator,
  kSource,
  kTarget,
  kNumber,
  kColumnCount
};

/// In the order of the enumeration. "track" counts in kLegTracks, "leg" in engine::kLegNames; the
/// last four are the operation.
constexpr std::array<Column, kColumnCount> kColumns = {{
    {"rank", kAnyId, [](const TraceEvent& e) { return std::int64_t{e.track.rank.value()}; }},
    {"track", kLegTracks.size() - 1, position_of_track},
    {"index", kAnyId, [](const TraceEvent& e) { return std::int64_t{e.track.index}; }},
    {"leg", engine::kLegNames.size() - 1, position_of_leg},
    {"begin_ns", kMostNanoseconds,
     [](const TraceEvent& e) { return engine::nanoseconds(e.begin); }},
    {"end_ns", kMostNanoseconds, [](const TraceEvent& e) { return engine::nanoseconds(e.end); }},
    {"flow", kAnyId, [](const TraceEvent& e) { return std::int64_t{e.flow.value()}; }},
    {"chunk", kAnyNumber, [](const TraceEvent& e) { return e.chunk; }},
    {"bytes", kAnyNumber, [](const TraceEvent& e) { return e.size.count(); }},
    {"communicator", kAnyShort,
     [](const TraceEvent& e) { return std::int64_t{e.operation.communicator}; }},
    {"source", kAnyShort, [](const TraceEvent& e) { return std::int64_t{e.operation.source}; }},
    {"target", kAnyShort, [](const TraceEvent& e) { return std::int64_t{e.operation.target}; }},
    {"number", std::numeric_limits<std::uint32_t>::max(),
     [](const TraceEvent& e) { return std::int64_t{e.operation.number}; }},
}};

using Row = std::array<std::int64_t, kColumnCount>;

TraceEvent event_of(const Row& row) {
  return {.begin = Seconds(static_cast<double>(row[kBegin]) * 1e-9),
          .end = Seconds(static_cast<double>(row[kEnd]) * 1e-9),
          .track = {.rank = engine::Rank(row[kRank]),
                    .kind = kLegTracks.at(static_cast<std::size_t>(row[kTrack])),
                    .index = static_cast<std::int32_t>(row[kIndex])},
          .name = engine::kLegNames.at(static_cast<std::size_t>(row[kLeg])),
          .flow = engine::FlowId(row[kFlow]),
          .chunk = row[kChunk],
          .size = engine::Bytes(row[kBytes]),
          .operation = {.communicator = static_cast<std::uint16_t>(row[kCommunicator]),
                        .source = static_cast<std::uint16_t>(row[kSource]),
                        .target = static_cast<std::uint16_t>(row[kTarget]),
                        .reserved = 0,
                        .number = static_cast<std::uint32_t>(row[kNumber])}};
}

void require_sound(const StrictJson& object, const TraceEvent& event, int rank_count) {
  if (event.track.rank.value() >= rank_count) {
    object.fail("rank", fmt::format("ranks below {}", rank_count));
  }
  if (event.end < event.begin) object.fail("end_ns", "no end before its begin");
  if (event.track.kind != TrackKind::kCopyEngine) return;
  const engine::Lane lane = lane_of(event.track);
  const bool known =
      std::ranges::find(engine::kCopyClasses, lane.copy_class) != engine::kCopyClasses.end();
  if (!known || copy_engine_track(event.track.rank, lane) != event.track) {
    object.fail("index", "lanes of a copy engine");
  }
}

}  // namespace

nlohmann::ordered_json recorded_trace(std::span<const TraceEvent> legs) {
  nlohmann::ordered_json trace = nlohmann::ordered_json::object();
  for (const Column& column : kColumns) {
    nlohmann::ordered_json& values = trace[std::string(column.name)];
    values = nlohmann::ordered_json::array();
    for (const TraceEvent& leg : legs) values.push_back(column.value(leg));
  }
  return trace;
}

std::vector<TraceEvent> read_recorded_trace(const nlohmann::json& trace, const std::string& file,
                                            const std::string& path, int rank_count) {
  StrictJson object(trace, file, path);
  std::vector<Row> rows;
  for (std::size_t c = 0; c < kColumnCount; ++c) {
    const Column& column = kColumns.at(c);
    const std::vector<std::int64_t> values = object.get_integers(column.name, 0, column.most);
    if (c == 0) rows.resize(values.size());
    if (values.empty() || values.size() != rows.size()) {
      object.fail(column.name, "as many numbers as in the other columns, at least one");
    }
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i].at(c) = values[i];
  }
  object.finish();
  std::vector<TraceEvent> legs;
  for (const Row& row : rows) {
    legs.push_back(event_of(row));
    require_sound(object, legs.back(), rank_count);
  }
  return legs;
}

std::vector<TraceEvent> legs_from_first(std::span<const TraceEvent> events) {
  std::vector<TraceEvent> legs;
  std::ranges::copy_if(events, std::back_inserter(legs), [](const TraceEvent& event) {
    return std::ranges::find(engine::kLegNames, event.name) != engine::kLegNames.end() &&
           event.track.kind != TrackKind::kNicReceive;
  });
  if (legs.empty()) return legs;
  const Seconds first = std::ranges::min(legs, {}, &TraceEvent::begin).begin;
  for (TraceEvent& leg : legs) {
    leg.begin -= first;
    leg.end -= first;
  }
  return legs;
}

}  // namespace hoccl::cli
