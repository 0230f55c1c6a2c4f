#include "sim/train/pipeline_slots.h"

#include <algorithm>

#include "engine/base/check.h"

namespace hoccl::sim {
namespace {

/// Micro-batches take turns in rounds of as many as there are stages: a round goes through all
/// chunks of the stage before the next one starts.
PipelineSlot nth_pass(const ParallelLayout& layout, int pass, bool forward) {
  if (layout.chunks == 1) return {.forward = forward, .microbatch = pass, .chunk = 0};
  const int round = layout.pipeline * layout.chunks;
  const int chunk = pass % round / layout.pipeline;
  return {.forward = forward,
          .microbatch = pass / round * layout.pipeline + pass % layout.pipeline,
          .chunk = forward ? chunk : layout.chunks - 1 - chunk};
}

// A micro-batch visits the stages in turn, first their chunks 0, then their chunks 1 and so on.

std::optional<int> stage_before(const ParallelLayout& layout, int stage, int chunk) {
  if (stage > 0) return stage - 1;
  if (chunk > 0) return layout.pipeline - 1;
  return std::nullopt;
}

std::optional<int> stage_after(const ParallelLayout& layout, int stage, int chunk) {
  if (stage < layout.pipeline - 1) return stage + 1;
  if (chunk < layout.chunks - 1) return 0;
  return std::nullopt;
}

}  // namespace

int warm_up_passes(const ParallelLayout& layout, int stage) {
  const int total = layout.microbatches * layout.chunks;
  const int stages_after = layout.pipeline - stage - 1;
  switch (layout.schedule) {
    case PipelineSchedule::k1f1b:
      return std::min(stages_after, total);
    case PipelineSchedule::kInterleaved:
      // Megatron-LM: a single round of micro-batches goes all forward, then all backward.
      if (layout.chunks > 1 && layout.microbatches == layout.pipeline) return total;
      return std::min(2 * stages_after + (layout.chunks - 1) * layout.pipeline, total);
  }
  HOCCL_CHECK(false, "schedule {}", static_cast<int>(layout.schedule));
}

std::vector<PipelineSlot> pipeline_slots(const ParallelLayout& layout, int stage) {
  HOCCL_CHECK(stage >= 0 && stage < layout.pipeline, "stage {} of {}", stage, layout.pipeline);
  const int total = layout.microbatches * layout.chunks;
  const int warm_up = warm_up_passes(layout, stage);
  std::vector<PipelineSlot> slots;
  slots.reserve(2 * static_cast<std::size_t>(total));
  for (int pass = 0; pass < warm_up; ++pass) slots.push_back(nth_pass(layout, pass, true));
  for (int pass = 0; pass < total; ++pass) {
    if (warm_up + pass < total) slots.push_back(nth_pass(layout, warm_up + pass, true));
    slots.push_back(nth_pass(layout, pass, false));
  }
  return slots;
}

std::optional<int> input_stage(const ParallelLayout& layout, int stage, const PipelineSlot& slot) {
  return slot.forward ? stage_before(layout, stage, slot.chunk)
                      : stage_after(layout, stage, slot.chunk);
}

std::optional<int> output_stage(const ParallelLayout& layout, int stage, const PipelineSlot& slot) {
  return slot.forward ? stage_after(layout, stage, slot.chunk)
                      : stage_before(layout, stage, slot.chunk);
}

LayerRange layers_of(const ParallelLayout& layout, int layers, int stage, int chunk) {
  const int count = layers / (layout.pipeline * layout.chunks);
  return {.first = (chunk * layout.pipeline + stage) * count, .count = count};
}

}  // namespace hoccl::sim
