#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <vector>

#include "engine/base/units.h"

namespace hoccl::sim {

/// Where PyTorch's caching allocator gets its memory from.
enum class SegmentKind : std::uint8_t {
  kFixed,       ///< cudaMalloc: can be registered with NICs
  kExpandable,  ///< one range of virtual memory that is mapped page by page (VMM): can not be
};

/// PyTorch's caching allocator on one stream (c10/cuda/CUDACachingAllocator.cpp, release 2.9), as
/// far as the memory that it holds depends on it: sizes rounded to 512 B, requests below 1 MiB in
/// segments of 2 MiB, below 10 MiB in segments of 20 MiB, larger ones in segments of their own in
/// multiples of 2 MiB; the best fit among free blocks, split where what is left is worth it, and
/// neighbours joined when freed. With expandable segments there is one range of pages of 20 MiB (of
/// 2 MiB for small requests), which grows at its end. Nothing is given back before memory is short.
class CachingAllocator {
 public:
  explicit CachingAllocator(SegmentKind kind) : kind_(kind) {}

  using BlockId = std::uint64_t;
  BlockId allocate(engine::Bytes size);
  void free(BlockId block);

  [[nodiscard]] engine::Bytes allocated() const { return allocated_; }
  [[nodiscard]] engine::Bytes peak_allocated() const { return peak_allocated_; }
  /// Held from the driver; never falls.
  [[nodiscard]] engine::Bytes reserved() const { return reserved_; }
  /// Memory beyond what was needed at the worst moment, as a share of that.
  [[nodiscard]] double fragmentation() const;

 private:
  struct Block {
    engine::Bytes size;
    bool is_free = false;
    BlockId id = 0;
  };
  /// Neighbours in address order.
  struct Segment {
    bool is_small = false;
    std::list<Block> blocks;
  };
  using Position = std::list<Block>::iterator;
  struct Place {
    Segment* segment = nullptr;
    Position block;
  };

  /// The smallest free block that is large enough; none: segment is null.
  Place best_fit(bool is_small, engine::Bytes size);
  Place grow(bool is_small, engine::Bytes size);
  Place grow_at_the_end(bool is_small, engine::Bytes size);
  [[nodiscard]] bool should_split(bool is_small, engine::Bytes left) const;

  SegmentKind kind_;
  std::list<Segment> segments_;
  std::map<BlockId, Place> used_;
  BlockId next_id_ = 1;
  engine::Bytes allocated_;
  engine::Bytes peak_allocated_;
  engine::Bytes reserved_;
};

}  // namespace hoccl::sim
