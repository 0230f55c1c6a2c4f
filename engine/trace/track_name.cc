#include "engine/trace/track_name.h"

#include <fmt/format.h>

#include "engine/base/check.h"

namespace hoccl::engine {
namespace {

// Lane::index is a byte, so class and index share the track's index without overlap.
constexpr std::int32_t kLanesPerClass = 256;

}  // namespace

Track copy_engine_track(Rank rank, Lane lane) {
  return {.rank = rank,
          .kind = TrackKind::kCopyEngine,
          .index = static_cast<std::int32_t>(lane.copy_class) * kLanesPerClass + lane.index};
}

Lane lane_of(const Track& track) {
  HOCCL_CHECK(track.kind == TrackKind::kCopyEngine, "track of rank {} is no copy engine",
              track.rank);
  return {.copy_class = static_cast<CopyClass>(track.index / kLanesPerClass),
          .index = static_cast<std::uint8_t>(track.index % kLanesPerClass)};
}

std::string track_name(const Track& track) {
  switch (track.kind) {
    case TrackKind::kCopyEngine: {
      const Lane lane = lane_of(track);
      return fmt::format("{}/{}", to_string(lane.copy_class), lane.index);
    }
    case TrackKind::kNicSend:
      return fmt::format("nic {} send", track.index);
    case TrackKind::kNicReceive:
      return fmt::format("nic {} receive", track.index);
    case TrackKind::kProxy:
      return "proxy";
    case TrackKind::kStream:
      return fmt::format("stream {}", track.index);
    case TrackKind::kSm:
      return fmt::format("sm {}", track.index);
  }
  return "?";
}

std::string_view event_name(Leg leg) {
  switch (leg) {
    case Leg::kStageIn:
      return "stage_in";
    case Leg::kDirect:
      return "direct";
    case Leg::kDeliver:
      return "deliver";
  }
  return "?";
}

}  // namespace hoccl::engine
