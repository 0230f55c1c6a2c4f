#include "sim/train/caching_allocator.h"

#include <algorithm>
#include <iterator>

#include "engine/base/check.h"

namespace hoccl::sim {

using engine::Bytes;
using namespace engine::literals;

namespace {

// Constants of CUDACachingAllocator.cpp.
constexpr Bytes kMinBlockSize = 512_B;
constexpr Bytes kSmallSize = 1_MiB;
constexpr Bytes kSmallBuffer = 2_MiB;
constexpr Bytes kMinLargeAlloc = 10_MiB;
constexpr Bytes kLargeBuffer = 20_MiB;
constexpr Bytes kRoundLarge = 2_MiB;

Bytes rounded(Bytes size, Bytes to) { return engine::chunk_count(size, to) * to; }

Bytes segment_size(Bytes size) {
  if (size <= kSmallSize) return kSmallBuffer;
  if (size < kMinLargeAlloc) return kLargeBuffer;
  return rounded(size, kRoundLarge);
}

}  // namespace

CachingAllocator::BlockId CachingAllocator::allocate(Bytes size) {
  const Bytes needed = rounded(std::max(size, kMinBlockSize), kMinBlockSize);
  const bool is_small = needed <= kSmallSize;
  Place place = best_fit(is_small, needed);
  if (place.segment == nullptr) place = grow(is_small, needed);
  const Bytes left = place.block->size - needed;
  if (should_split(is_small, left)) {
    place.segment->blocks.insert(std::next(place.block), {.size = left, .is_free = true});
    place.block->size = needed;
  }
  place.block->is_free = false;
  place.block->id = next_id_++;
  used_.emplace(place.block->id, place);
  allocated_ += place.block->size;
  peak_allocated_ = std::max(peak_allocated_, allocated_);
  return place.block->id;
}

void CachingAllocator::free(BlockId id) {
  const auto found = used_.find(id);
  HOCCL_CHECK(found != used_.end(), "block {} is not allocated", id);
  const Place place = found->second;
  used_.erase(found);
  allocated_ -= place.block->size;
  place.block->is_free = true;
  std::list<Block>& blocks = place.segment->blocks;
  const auto join_with_next = [&blocks](Position block) {
    const Position next = std::next(block);
    if (next == blocks.end() || !next->is_free || !block->is_free) return;
    block->size += next->size;
    blocks.erase(next);
  };
  join_with_next(place.block);
  if (place.block != blocks.begin()) join_with_next(std::prev(place.block));
}

double CachingAllocator::fragmentation() const {
  if (peak_allocated_ == 0_B) return 0.0;
  return static_cast<double>((reserved_ - peak_allocated_).count()) /
         static_cast<double>(peak_allocated_.count());
}

CachingAllocator::Place CachingAllocator::best_fit(bool is_small, Bytes size) {
  Place best;
  for (Segment& segment : segments_) {
    if (segment.is_small != is_small) continue;
    for (Position block = segment.blocks.begin(); block != segment.blocks.end(); ++block) {
      if (!block->is_free || block->size < size) continue;
      if (best.segment == nullptr || block->size < best.block->size) best = {&segment, block};
    }
  }
  return best;
}

CachingAllocator::Place CachingAllocator::grow(bool is_small, Bytes size) {
  if (kind_ == SegmentKind::kExpandable) return grow_at_the_end(is_small, size);
  Segment& segment = segments_.emplace_back();
  segment.is_small = is_small;
  segment.blocks.push_back({.size = segment_size(size), .is_free = true});
  reserved_ += segment_size(size);
  return {&segment, segment.blocks.begin()};
}

/// A free block at the end of the range is made as large as it must be.
CachingAllocator::Place CachingAllocator::grow_at_the_end(bool is_small, Bytes size) {
  const auto found = std::ranges::find(segments_, is_small, &Segment::is_small);
  if (found == segments_.end()) segments_.emplace_back().is_small = is_small;
  Segment& segment = found == segments_.end() ? segments_.back() : *found;
  if (segment.blocks.empty() || !segment.blocks.back().is_free) {
    segment.blocks.push_back({.size = 0_B, .is_free = true});
  }
  const Position last = std::prev(segment.blocks.end());
  const Bytes page = is_small ? kSmallBuffer : kLargeBuffer;
  const Bytes grown = rounded(size - last->size, page);
  last->size += grown;
  reserved_ += grown;
  return {&segment, last};
}

bool CachingAllocator::should_split(bool is_small, Bytes left) const {
  if (is_small || kind_ == SegmentKind::kExpandable) return left >= kMinBlockSize;
  return left > kSmallSize;
}

}  // namespace hoccl::sim
