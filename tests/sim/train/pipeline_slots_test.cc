#include "sim/train/pipeline_slots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

namespace hoccl::sim {
namespace {

using testing::ElementsAre;

constexpr int kForwardTime = 1;
constexpr int kBackwardTime = 2;

/// Every schedule that `require_layout` accepts, up to six stages of four chunks.
std::vector<ParallelLayout> many_pipelines() {
  std::vector<ParallelLayout> result;
  for (int stages = 1; stages <= 6; ++stages) {
    for (int microbatches = 1; microbatches <= 13; ++microbatches) {
      ParallelLayout layout{.pipeline = stages, .microbatches = microbatches};
      for (const auto schedule : {PipelineSchedule::k1f1b, PipelineSchedule::kInterleaved}) {
        layout.schedule = schedule;
        result.push_back(layout);
      }
    }
    for (int chunks = 2; chunks <= 4 && stages > 1; ++chunks) {
      for (int rounds = 1; rounds <= 4; ++rounds) {
        result.push_back({.pipeline = stages, .chunks = chunks, .microbatches = rounds * stages});
      }
    }
  }
  return result;
}

std::string described(const ParallelLayout& layout) {
  return std::string(to_string(layout.schedule)) + " p=" + std::to_string(layout.pipeline) +
         " v=" + std::to_string(layout.chunks) + " m=" + std::to_string(layout.microbatches);
}

/// One pass of one stage, to look up when it ended.
using PassKey = std::tuple<bool, int, int, int>;  // forward, stage, chunk, micro-batch

/// The pass whose output a slot waits for, by where chunks stand in the model and not by
/// `input_stage`: chunk c of stage s is part c p + s.
std::optional<PassKey> awaited(const ParallelLayout& layout, int stage, const PipelineSlot& slot) {
  const int part = slot.chunk * layout.pipeline + stage + (slot.forward ? -1 : 1);
  if (part < 0) return std::nullopt;
  // The last part's backward pass follows from its own forward pass.
  if (part == layout.pipeline * layout.chunks) {
    return PassKey{true, stage, slot.chunk, slot.microbatch};
  }
  return PassKey{slot.forward, part % layout.pipeline, part / layout.pipeline, slot.microbatch};
}

/// Runs the slots of all stages: a pass starts when its stage is free and its input is there.
/// Returns when the last one ends, or nothing when the stages wait for one another.
std::optional<int> run_time(const ParallelLayout& layout) {
  std::vector<std::vector<PipelineSlot>> slots;
  for (int stage = 0; stage < layout.pipeline; ++stage) {
    slots.push_back(pipeline_slots(layout, stage));
  }
  std::vector<std::size_t> next(slots.size(), 0);
  std::vector<int> free_at(slots.size(), 0);
  std::map<PassKey, int> ends;
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t stage = 0; stage < slots.size(); ++stage) {
      const int number = static_cast<int>(stage);
      while (next[stage] < slots[stage].size()) {
        const PipelineSlot& slot = slots[stage][next[stage]];
        const std::optional<PassKey> input = awaited(layout, number, slot);
        if (input && !ends.contains(*input)) break;
        const int start = std::max(free_at[stage], input ? ends.at(*input) : 0);
        free_at[stage] = start + (slot.forward ? kForwardTime : kBackwardTime);
        ends[{slot.forward, number, slot.chunk, slot.microbatch}] = free_at[stage];
        ++next[stage];
        moved = true;
      }
    }
  }
  for (std::size_t stage = 0; stage < slots.size(); ++stage) {
    if (next[stage] < slots[stage].size()) return std::nullopt;
  }
  return std::ranges::max(free_at);
}

PipelineSlot forward(int microbatch, int chunk = 0) { return {true, microbatch, chunk}; }
PipelineSlot backward(int microbatch, int chunk = 0) { return {false, microbatch, chunk}; }

TEST(PipelineSlots, EveryPassIsComputedOnceAndBackwardAfterForward) {
  for (const ParallelLayout& layout : many_pipelines()) {
    SCOPED_TRACE(described(layout));
    const int passes = layout.microbatches * layout.chunks;
    for (int stage = 0; stage < layout.pipeline; ++stage) {
      std::map<std::pair<int, int>, int> done;  // by micro-batch and chunk: passes so far
      const std::vector<PipelineSlot> slots = pipeline_slots(layout, stage);
      for (const PipelineSlot& slot : slots) {
        EXPECT_GE(slot.microbatch, 0);
        EXPECT_LT(slot.microbatch, layout.microbatches);
        EXPECT_GE(slot.chunk, 0);
        EXPECT_LT(slot.chunk, layout.chunks);
        EXPECT_EQ((done[{slot.microbatch, slot.chunk}]++), slot.forward ? 0 : 1);
      }
      EXPECT_EQ(static_cast<int>(done.size()), passes);
      EXPECT_EQ(static_cast<int>(slots.size()), 2 * passes);
    }
  }
}

// All schedules lose p - 1 turns of one chunk: m v turns of compute and the way through the stages.
// For 1F1B that is a bubble of (p - 1) / (m + p - 1) of the time.
TEST(PipelineSlots, StagesNeverWaitForOneAnotherAndTheBubbleIsOneChunkPerStage) {
  for (const ParallelLayout& layout : many_pipelines()) {
    const int turn = kForwardTime + kBackwardTime;
    EXPECT_EQ(run_time(layout), (layout.microbatches * layout.chunks + layout.pipeline - 1) * turn)
        << described(layout);
  }
}

TEST(PipelineSlots, OneForwardOneBackwardWarmsUpByTheStagesBehind) {
  const ParallelLayout layout{
      .pipeline = 3, .microbatches = 4, .schedule = PipelineSchedule::k1f1b};
  EXPECT_THAT(pipeline_slots(layout, 0),
              ElementsAre(forward(0), forward(1), forward(2), backward(0), forward(3), backward(1),
                          backward(2), backward(3)));
  EXPECT_THAT(pipeline_slots(layout, 2),
              ElementsAre(forward(0), backward(0), forward(1), backward(1), forward(2), backward(2),
                          forward(3), backward(3)));
}

TEST(PipelineSlots, AStageNeverHoldsMoreMicroBatchesThanStagesFromItOnWith1f1b) {
  for (const ParallelLayout& layout : many_pipelines()) {
    if (layout.schedule != PipelineSchedule::k1f1b) continue;
    for (int stage = 0; stage < layout.pipeline; ++stage) {
      int held = 0;
      int most = 0;
      for (const PipelineSlot& slot : pipeline_slots(layout, stage)) {
        held += slot.forward ? 1 : -1;
        most = std::max(most, held);
      }
      EXPECT_EQ(most, std::min(layout.pipeline - stage, layout.microbatches)) << described(layout);
    }
  }
}

TEST(PipelineSlots, InterleavedStagesTakeARoundOfMicroBatchesThroughAllChunks) {
  const ParallelLayout layout{.pipeline = 2, .chunks = 2, .microbatches = 4};
  // Last stage: warm-up of (v - 1) p passes.
  EXPECT_THAT(pipeline_slots(layout, 1),
              ElementsAre(forward(0, 0), forward(1, 0), forward(0, 1), backward(0, 1),
                          forward(1, 1), backward(1, 1), forward(2, 0), backward(0, 0),
                          forward(3, 0), backward(1, 0), forward(2, 1), backward(2, 1),
                          forward(3, 1), backward(3, 1), backward(2, 0), backward(3, 0)));
}

TEST(PipelineSlots, ASingleRoundOfInterleavedMicroBatchesGoesAllForwardFirst) {
  const ParallelLayout layout{.pipeline = 4, .chunks = 2, .microbatches = 4};
  for (int stage = 0; stage < layout.pipeline; ++stage) {
    EXPECT_TRUE(std::ranges::is_partitioned(pipeline_slots(layout, stage), &PipelineSlot::forward));
  }
}

TEST(PipelineStages, InputsComeFromThePartBeforeForwardAndBehindBackward) {
  for (const ParallelLayout& layout : many_pipelines()) {
    const int last = layout.pipeline * layout.chunks - 1;
    for (int part = 0; part <= last; ++part) {
      const int stage = part % layout.pipeline;
      const int chunk = part / layout.pipeline;
      const auto stage_of = [&](int other) {
        return other < 0 || other > last ? std::nullopt : std::optional(other % layout.pipeline);
      };
      EXPECT_EQ(input_stage(layout, stage, forward(0, chunk)), stage_of(part - 1));
      EXPECT_EQ(output_stage(layout, stage, forward(0, chunk)), stage_of(part + 1));
      EXPECT_EQ(input_stage(layout, stage, backward(0, chunk)), stage_of(part + 1));
      EXPECT_EQ(output_stage(layout, stage, backward(0, chunk)), stage_of(part - 1));
    }
  }
}

TEST(PipelineStages, ASingleStageHasNoMessages) {
  const ParallelLayout layout{.microbatches = 3};
  for (const PipelineSlot& slot : pipeline_slots(layout, 0)) {
    EXPECT_EQ(input_stage(layout, 0, slot), std::nullopt);
    EXPECT_EQ(output_stage(layout, 0, slot), std::nullopt);
  }
}

TEST(PipelineStages, ChunksHoldAllLayersInTheOrderInWhichAMicroBatchMeetsThem) {
  for (const ParallelLayout& layout : many_pipelines()) {
    const int each = 3;
    const int layers = each * layout.pipeline * layout.chunks;
    int expected = 0;
    for (int chunk = 0; chunk < layout.chunks; ++chunk) {
      for (int stage = 0; stage < layout.pipeline; ++stage) {
        const LayerRange range = layers_of(layout, layers, stage, chunk);
        EXPECT_EQ(range.first, expected);
        EXPECT_EQ(range.count, each);
        expected += range.count;
      }
    }
    EXPECT_EQ(expected, layers);
  }
}

}  // namespace
}  // namespace hoccl::sim
