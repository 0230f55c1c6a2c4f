#include "engine/schedule/stage_chunks.h"

#include <algorithm>
#include <tuple>

#include "engine/schedule/wire_legs.h"

namespace hoccl::engine {

std::vector<StageChunks> stage_chunks(const Plan& plan) {
  std::vector<StageChunks> parts;
  for (const Transfer& transfer : plan.transfers) {
    if (!crosses_wire(transfer)) continue;
    const std::int64_t chunks = chunks_of(transfer, plan.chunk_size);
    for (std::size_t leg = 0; leg < leg_count(transfer); ++leg) {
      const WireLeg wire = wire_leg(transfer, leg);
      if (wire.stage_list < 0) {
        parts.push_back({wire.stage, wire.send, wire.receive, chunks});
        continue;
      }
      const auto list = static_cast<std::size_t>(wire.stage_list);
      for (const StageSegment& segment : segments_of(plan.stage_lists[list], chunks)) {
        parts.push_back({segment.stage, wire.send, wire.receive, segment.chunks});
      }
    }
  }
  std::ranges::sort(parts);
  std::vector<StageChunks> sums;
  for (const StageChunks& part : parts) {
    const auto place = [](const StageChunks& of) {
      return std::tuple(of.stage, of.send, of.receive);
    };
    if (!sums.empty() && place(sums.back()) == place(part)) {
      sums.back().chunks += part.chunks;
    } else {
      sums.push_back(part);
    }
  }
  return sums;
}

}  // namespace hoccl::engine
