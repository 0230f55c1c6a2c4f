#pragma once

#include <cstdint>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "engine/trace/csv_writer.h"
#include "engine/trace/perfetto_writer.h"
#include "engine/trace/trace.h"
#include "engine/trace/track_name.h"

// Events as a run records them, and what the writers make of them.

namespace hoccl::engine {

using namespace literals;

inline constexpr Rank kSource{0};
inline constexpr Rank kTarget{1};
inline constexpr Lane kPeerLane{CopyClass::kPeer, 1};

inline OperationId operation(std::uint32_t number) {
  return {.communicator = 0, .source = 0, .target = 1, .reserved = 0, .number = number};
}

inline TraceEvent chunk_event(Seconds begin, Seconds end, Track track, std::string_view name,
                              std::int64_t chunk, std::uint32_t operation_number = 1) {
  return {.begin = begin,
          .end = end,
          .track = track,
          .name = name,
          .flow = FlowId(0),
          .chunk = chunk,
          .size = 1_MiB,
          .operation = operation(operation_number)};
}

inline Track nic(Rank rank, TrackKind kind, std::int32_t index) {
  return {.rank = rank, .kind = kind, .index = index};
}

/// The four legs of one chunk, from `begin` on, each 10 us, the wire seen at both NICs.
inline std::vector<TraceEvent> legs(Seconds begin, std::int64_t chunk, std::uint32_t number = 1) {
  return {
      chunk_event(begin, begin + 10_us, copy_engine_track(kSource, kPeerLane), "stage_in", chunk,
                  number),
      chunk_event(begin + 10_us, begin + 20_us, nic(kTarget, TrackKind::kNicReceive, 9), "wire",
                  chunk, number),
      chunk_event(begin + 10_us, begin + 20_us, nic(kSource, TrackKind::kNicSend, 1), "wire", chunk,
                  number),
      chunk_event(begin + 20_us, begin + 30_us, copy_engine_track(kTarget, kPeerLane), "deliver",
                  chunk, number),
  };
}

inline TraceEvent step(Rank rank, Seconds begin, Seconds end) {
  TraceEvent event;
  event.begin = begin;
  event.end = end;
  event.track = {.rank = rank, .kind = TrackKind::kProxy, .index = 0};
  event.name = "step";
  return event;
}

template <class Writer>
std::string written(Writer writer, std::span<const TraceEvent> events) {
  std::ostringstream stream;
  writer(stream, events);
  return stream.str();
}

inline std::string csv(std::span<const TraceEvent> events) {
  return written([](std::ostream& out, auto all) { write_trace_csv(out, all); }, events);
}

inline std::string perfetto(std::span<const TraceEvent> events) {
  return written([](std::ostream& out, auto all) { write_trace_perfetto(out, all); }, events);
}

}  // namespace hoccl::engine
