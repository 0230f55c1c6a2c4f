#include "engine/pipeline/operation_state.h"

#include <algorithm>

#include "engine/base/check.h"
#include "engine/topology/topology.h"

namespace hoccl::engine {

const Region& SourceFlow::buffer() const {
  return depends() ? operation->operation.receive_buffer : operation->operation.send_buffer;
}

SourceFlow::TakenChunk SourceFlow::take_chunk() {
  TakenChunk chunk;
  chunk.number = first_waiting_chunk();
  posted += 1;
  if (depends()) available.pop_front();
  chunk.within = operation->operation.plan->chunk_size * chunk.number;
  const Region& from = buffer();
  const Bytes offset = transfer->source_offset + chunk.within;
  const Bytes size = chunk_size(chunk.number);
  HOCCL_CHECK(offset + size <= from.size, "chunk {} of flow {} leaves the buffer of {}",
              chunk.number, id, from.size.count());
  chunk.region = {from.buffer, from.offset + offset, size};
  return chunk;
}

Region SourceFlow::target_of(const TakenChunk& chunk) const {
  return {target_buffer.buffer, target_buffer.offset + transfer->target_offset + chunk.within,
          chunk.region.size};
}

LeaseSegment& SourceFlow::segment_of(std::int64_t chunk) {
  const auto found = std::ranges::find_if(segments, [&](const LeaseSegment& segment) {
    return chunk < segment.begin + segment.chunks;
  });
  HOCCL_CHECK(found != segments.end(), "flow {} has no chunk {}", id, chunk);
  return *found;
}

std::int32_t SourceFlow::stage_of(std::int64_t chunk) const {
  for (const LeaseSegment& segment : segments) {
    if (chunk < segment.begin + segment.chunks) return segment.stage;
  }
  return transfer->stage;
}

Bytes SourceFlow::chunk_size(std::int64_t chunk) const {
  const Bytes whole = operation->operation.plan->chunk_size;
  return std::min(whole, transfer->size - whole * chunk);
}

double OperationState::staged_progress() const {
  const auto part = [](std::int64_t done, std::int64_t all) {
    return all == 0 ? 1.0 : static_cast<double>(done) / static_cast<double>(all);
  };
  return std::min(part(staged_out_copied, staged_out), part(staged_in_copied, staged_in));
}

std::array<std::uint32_t, 3> local_targets_of(const Topology& topology, Rank target,
                                              const std::vector<Rank>& more) {
  std::array<std::uint32_t, 3> bits{};
  const auto add = [&](Rank rank) {
    const auto index = static_cast<std::size_t>(topology.local_index(rank));
    bits.at(index / 32) |= 1U << (index % 32);
  };
  add(target);
  for (const Rank rank : more) add(rank);
  return bits;
}

}  // namespace hoccl::engine
