#include "hw/node/rank_segment.h"

#include <fmt/format.h>

#include <utility>

namespace hoccl::hw {

// All members are valid when zero, which fresh shared memory is: nobody constructs them.
engine::Bytes RankSegment::size_for(int rank_count) {
  return engine::Bytes(sizeof(Head) + sizeof(RecordRing) * static_cast<std::size_t>(rank_count));
}

RankSegment RankSegment::create(engine::Rank rank, int rank_count) {
  return RankSegment(
      SharedMemory::create(fmt::format("hoccl-rank-{}", rank), size_for(rank_count)));
}

RankSegment RankSegment::attach(FileDescriptor descriptor, int rank_count) {
  return RankSegment(SharedMemory::attach(std::move(descriptor), size_for(rank_count)));
}

}  // namespace hoccl::hw
