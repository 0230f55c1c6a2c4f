#include "sim/train/memory_use.h"

#include <gtest/gtest.h>

#include <vector>

#include "engine/base/random.h"

namespace hoccl::sim {
namespace {

using engine::Bytes;
using engine::Rank;
using namespace engine::literals;

TEST(CachingAllocator, RequestsAreRoundedAndSegmentsAreShared) {
  CachingAllocator memory(SegmentKind::kFixed);
  memory.allocate(1_B);
  EXPECT_EQ(memory.allocated(), 512_B);
  EXPECT_EQ(memory.reserved(), 2_MiB);
  memory.allocate(1_MiB);  // the same segment
  EXPECT_EQ(memory.reserved(), 2_MiB);
  memory.allocate(2_MiB);  // a medium one has a segment of 20 MiB
  EXPECT_EQ(memory.reserved(), 22_MiB);
  memory.allocate(17_MiB);
  EXPECT_EQ(memory.reserved(), 22_MiB);
  memory.allocate(33_MiB);  // a large one is rounded to 2 MiB
  EXPECT_EQ(memory.reserved(), 22_MiB + 34_MiB);
}

TEST(CachingAllocator, WhatIsFreedIsJoinedAndUsedAgain) {
  CachingAllocator memory(SegmentKind::kFixed);
  const auto first = memory.allocate(8_MiB);
  const auto second = memory.allocate(8_MiB);
  EXPECT_EQ(memory.reserved(), 20_MiB);
  memory.free(first);
  memory.free(second);
  EXPECT_EQ(memory.allocated(), 0_B);
  memory.allocate(20_MiB);
  EXPECT_EQ(memory.reserved(), 20_MiB);
}

TEST(CachingAllocator, FixedSegmentsAreNeverJoinedExpandableOnesAreOne) {
  for (const SegmentKind kind : {SegmentKind::kFixed, SegmentKind::kExpandable}) {
    CachingAllocator memory(kind);
    const auto first = memory.allocate(40_MiB);
    const auto second = memory.allocate(40_MiB);
    memory.free(first);
    memory.free(second);
    memory.allocate(80_MiB);
    const bool fixed = kind == SegmentKind::kFixed;
    EXPECT_EQ(memory.reserved(), fixed ? 160_MiB : 80_MiB);
    EXPECT_DOUBLE_EQ(memory.fragmentation(), fixed ? 1.0 : 0.0);
  }
}

TEST(CachingAllocator, NeverHoldsLessThanItGaveAway) {
  for (const SegmentKind kind : {SegmentKind::kFixed, SegmentKind::kExpandable}) {
    CachingAllocator memory(kind);
    engine::Random random(7);
    std::vector<CachingAllocator::BlockId> blocks;
    for (int i = 0; i < 2000; ++i) {
      if (blocks.empty() || random.between(0, 2) > 0) {
        blocks.push_back(memory.allocate(Bytes(random.between(1, 64 << 20))));
      } else {
        const auto at = static_cast<std::size_t>(
            random.between(0, static_cast<std::int64_t>(blocks.size()) - 1));
        memory.free(blocks[at]);
        blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(at));
      }
      ASSERT_LE(memory.allocated(), memory.reserved());
      ASSERT_LE(memory.peak_allocated(), memory.reserved());
    }
    for (const auto block : blocks) memory.free(block);
    EXPECT_EQ(memory.allocated(), 0_B);
  }
}

TEST(CachingAllocator, ABlockIsFreedOnce) {
  CachingAllocator memory(SegmentKind::kFixed);
  const auto block = memory.allocate(1_MiB);
  memory.free(block);
  EXPECT_DEATH(memory.free(block), "not allocated");
}

TEST(MemoryUse, SamplesOfOneLengthLeaveNoHoles) {
  const MemoryUse use = memory_use(resolve_training_setup("gpt-6.7b"), Rank(0), 0.0, 1, 3);
  EXPECT_LT(use.fixed, 0.01);
  EXPECT_LT(use.expandable, 0.01);
}

TEST(MemoryUse, NeedsWhatTheWarmUpKeeps) {
  const TrainingSetup setup = resolve_training_setup("gpt-6.7b");
  const MemoryUse use = memory_use(setup, Rank(0), 0.0, 1, 1);
  // 34 s b h bytes a layer (Korthikanti et al. 2022), 4 layers, over 2 tensor-parallel ranks;
  // 14 forward passes come before the first pair on the first of 8 stages.
  const double layer = 34.0 * setup.model.sequence * setup.layout.microbatch * setup.model.hidden /
                       setup.layout.tensor;
  EXPECT_NEAR(static_cast<double>(use.needed.count()) / (layer * 4 * 15), 1.0, 0.02);
}

TEST(MemoryUse, LengthsThatDifferLeaveHolesInFixedSegments) {
  for (const char* model : {"gpt-6.7b", "gpt-32b"}) {
    const MemoryUse use = memory_use(resolve_training_setup(model), Rank(0), 0.25, 1, 3);
    EXPECT_GT(use.fixed, use.expandable);
  }
}

}  // namespace
}  // namespace hoccl::sim
