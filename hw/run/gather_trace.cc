#include "hw/run/gather_trace.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "engine/base/check.h"
#include "engine/run_result.h"
#include "hw/run/exchange.h"

namespace hoccl::hw {

using engine::kLegNames;
using engine::Seconds;
using engine::TraceEvent;

namespace {

/// An event without pointers.
struct PackedEvent {
  TraceEvent event;
  std::uint64_t leg = 0;  ///< position in kLegNames; `event.name` is another process's pointer
};

/// A blob of the bootstrap holds 1 MiB.
constexpr std::size_t kEventsPerRound = (std::size_t{1} << 20) / sizeof(PackedEvent);

PackedEvent pack(const TraceEvent& event) {
  const auto* name = std::ranges::find(kLegNames, event.name);
  HOCCL_CHECK(name != kLegNames.end(), "event '{}' is no leg", event.name);
  PackedEvent packed{event, static_cast<std::uint64_t>(name - kLegNames.begin())};
  packed.event.name = {};
  return packed;
}

TraceEvent unpack(const PackedEvent& packed) {
  TraceEvent event = packed.event;
  event.name = kLegNames.at(packed.leg);
  return event;
}

}  // namespace

std::vector<TraceEvent> gather_trace(Bootstrap& bootstrap, std::span<const TraceEvent> own) {
  std::size_t most = 0;
  for (const auto& count : hw::exchange(bootstrap, std::vector{own.size()})) {
    most = std::max(most, count.front());
  }
  std::vector<TraceEvent> all;
  for (std::size_t first = 0; first < most; first += kEventsPerRound) {
    std::vector<PackedEvent> part;
    for (std::size_t i = first; i < std::min(own.size(), first + kEventsPerRound); ++i) {
      part.push_back(pack(own[i]));
    }
    const std::string blob(reinterpret_cast<const char*>(part.data()),
                           part.size() * sizeof(PackedEvent));
    for (const std::string& received : bootstrap.all_gather(blob)) {
      for (std::size_t i = 0; i + sizeof(PackedEvent) <= received.size();
           i += sizeof(PackedEvent)) {
        PackedEvent packed;
        std::memcpy(&packed, received.data() + i, sizeof(packed));
        all.push_back(unpack(packed));
      }
    }
  }
  if (all.empty()) return all;
  const Seconds origin = std::ranges::min(all, {}, &TraceEvent::begin).begin;
  for (TraceEvent& event : all) {
    event.begin -= origin;
    event.end -= origin;
  }
  return all;
}

}  // namespace hoccl::hw
