#include "sim/train/layer_kernels.h"

#include <algorithm>

#include "sim/train/pipeline_slots.h"

namespace hoccl::sim {

using engine::Bytes;
using engine::BytesPerSecond;
using engine::Seconds;

namespace {

// Bytes per value of activations: bf16.
constexpr std::int64_t kActivationBytes = 2;
// Adam in mixed precision: reads and writes fp32 weights and both moments, reads the gradient,
// writes the bf16 weights. Bytes per parameter of this rank's share.
constexpr std::int64_t kOptimiserBytes = 2 * (4 + 4 + 4) + 4 + 2;
// Thread-block tile of a large bf16 product on Hopper, as cuBLAS picks it (128 x 256).
constexpr std::int64_t kTileRows = 128;
constexpr std::int64_t kTileColumns = 256;

std::int64_t ceil_divide(std::int64_t value, std::int64_t by) { return (value + by - 1) / by; }

/// Seconds that `operations` take at the phase's share of the peak.
Seconds time_of(double operations, const TrainingSetup& setup, const Calibration& machine,
                Phase phase) {
  const double share = phase == Phase::kForward ? setup.speed.forward : setup.speed.backward;
  return Seconds(operations / (share * machine.gpu.peak_tflops * 1e12));
}

/// Backward, a product is two of the same size, by inputs and by weights, and so are the small
/// kernels around it.
LayerKernel make_kernel(double operations, std::int64_t tiles, const TrainingSetup& setup,
                        const Calibration& machine, Phase phase) {
  const int times = phase == Phase::kBackward ? 2 : 1;
  return {
      {.alone = time_of(times * operations, setup, machine, phase), .phase = phase, .tiles = tiles},
      times * static_cast<int>(machine.launch.per_product)};
}

LayerKernel product(std::int64_t rows, std::int64_t inner, std::int64_t columns,
                    const TrainingSetup& setup, const Calibration& machine, Phase phase) {
  const double operations =
      2.0 * static_cast<double>(rows) * static_cast<double>(inner) * static_cast<double>(columns);
  const std::int64_t tiles = ceil_divide(rows, kTileRows) * ceil_divide(columns, kTileColumns);
  return make_kernel(operations, tiles, setup, machine, phase);
}

std::int64_t tokens(const TrainingSetup& setup) {
  return std::int64_t{setup.layout.microbatch} * setup.model.sequence;
}

}  // namespace

std::vector<LayerKernel> layer_kernels(const TrainingSetup& setup, const Calibration& machine,
                                       LayerPart part, Phase phase) {
  const ModelShape& model = setup.model;
  const std::int64_t rows = tokens(setup);
  const std::int64_t tensor = setup.layout.tensor;
  const std::int64_t hidden = model.hidden;
  std::vector<LayerKernel> kernels;
  switch (part) {
    case LayerPart::kAttention: {
      kernels.push_back(product(rows, hidden, 3 * hidden / tensor, setup, machine, phase));
      // Scores and values: 2 s h each per token.
      const double scores =
          4.0 * static_cast<double>(rows) * model.sequence * static_cast<double>(hidden / tensor);
      const std::int64_t tiles =
          model.heads / tensor * ceil_divide(model.sequence, kTileRows) * setup.layout.microbatch;
      kernels.push_back(make_kernel(scores, tiles, setup, machine, phase));
      kernels.push_back(product(rows, hidden / tensor, hidden, setup, machine, phase));
      break;
    }
    case LayerPart::kFeedForward:
      kernels.push_back(product(rows, hidden, model.feed_forward / tensor, setup, machine, phase));
      kernels.push_back(product(rows, model.feed_forward / tensor, hidden, setup, machine, phase));
      break;
  }
  if (phase == Phase::kBackward) std::ranges::reverse(kernels);
  return kernels;
}

LayerKernel output_kernel(const TrainingSetup& setup, const Calibration& machine, Phase phase) {
  return product(tokens(setup), setup.model.hidden, setup.model.vocabulary / setup.layout.tensor,
                 setup, machine, phase);
}

LayerKernel optimiser_kernel(const TrainingSetup& setup, const Calibration& machine) {
  const ParallelLayout& layout = setup.layout;
  const std::int64_t share =
      parameters(setup.model) / (std::int64_t{layout.tensor} * layout.pipeline * layout.data);
  return {
      {.alone = Bytes(share * kOptimiserBytes) / machine.gpu.memory_rate, .phase = Phase::kOther},
      static_cast<int>(machine.launch.per_product)};
}

Bytes activation_size(const TrainingSetup& setup) {
  return Bytes(tokens(setup) * setup.model.hidden * kActivationBytes);
}

ChunkParameters chunk_parameters(const TrainingSetup& setup, int stage, int chunk) {
  const ParallelLayout& layout = setup.layout;
  const LayerRange layers = layers_of(layout, setup.model.layers, stage, chunk);
  ModelShape one_expert = setup.model;
  one_expert.experts = 1;
  // What all experts but one add to a layer is theirs, and so is that one.
  const bool routes = setup.model.experts > 1;
  const std::int64_t dense = layer_parameters(one_expert);
  const std::int64_t expert =
      routes ? (layer_parameters(setup.model) - dense) / (setup.model.experts - 1) : 0;
  std::int64_t shared = layers.count * (dense - expert);
  const bool first = stage == 0 && chunk == 0;
  const bool last = stage == layout.pipeline - 1 && chunk == layout.chunks - 1;
  // Both ends of the model hold the embedding, which they share.
  if (first || last) shared += std::int64_t{setup.model.vocabulary} * setup.model.hidden;
  const std::int64_t experts = layers.count * expert * (setup.model.experts / layout.expert);
  return {.shared = shared / layout.tensor, .experts = experts / layout.tensor};
}

}  // namespace hoccl::sim
