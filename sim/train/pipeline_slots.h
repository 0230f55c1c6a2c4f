#pragma once

#include <optional>
#include <vector>

#include "sim/train/parallel_layout.h"

namespace hoccl::sim {

/// One pass of one micro-batch through one model chunk of a stage.
struct PipelineSlot {
  bool forward = true;
  int microbatch = 0;
  int chunk = 0;
  bool operator==(const PipelineSlot&) const = default;
};

/// Forward passes of a stage before its first backward pass: just enough for the first gradient to
/// be there, or as many more as keep messages under way beside compute.
int warm_up_passes(const ParallelLayout& layout, int stage);

/// What a stage computes in one step, in order.
std::vector<PipelineSlot> pipeline_slots(const ParallelLayout& layout, int stage);

/// Stage that a pass gets its input from, or gives its output to; nothing at the ends of the model.
std::optional<int> input_stage(const ParallelLayout& layout, int stage, const PipelineSlot& slot);
std::optional<int> output_stage(const ParallelLayout& layout, int stage, const PipelineSlot& slot);

/// Layers of a model chunk of a stage: [first, first + count).
struct LayerRange {
  int first = 0;
  int count = 0;
};
LayerRange layers_of(const ParallelLayout& layout, int layers, int stage, int chunk);

}  // namespace hoccl::sim
