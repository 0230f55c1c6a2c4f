#pragma once

#include <cstdint>
#include <string_view>

#include "engine/base/ids.h"
#include "engine/base/operation_id.h"
#include "engine/base/units.h"

namespace hoccl::engine {

/// What a track of the timeline shows. One track per (rank, kind, index).
enum class TrackKind : std::uint8_t { kCopyEngine, kNicSend, kNicReceive, kProxy, kStream, kSm };

struct Track {
  Rank rank;
  TrackKind kind = TrackKind::kProxy;
  /// Lane of a copy engine (see track_name.h), NIC id, stream id or channel; 0 for a proxy.
  std::int32_t index = 0;

  auto operator<=>(const Track&) const = default;
};

/// One interval on a track. The same schema for every backend.
struct TraceEvent {
  Seconds begin;
  Seconds end;
  Track track;
  /// "stage_in", "wire", "deliver", "direct", "gate_ready", "gate_wait", "step", ... Static
  /// storage.
  std::string_view name;
  /// Events of one operation, flow and chunk number are joined by an arrow; none() for events
  /// without a chunk.
  FlowId flow;
  std::int64_t chunk = -1;
  Bytes size;
  OperationId operation;
};

/// Receives events, ended ones only, in any order. Null sinks are represented by a null pointer.
class TraceSink {
 public:
  virtual ~TraceSink() = default;
  virtual void record(const TraceEvent& event) = 0;
};

}  // namespace hoccl::engine
