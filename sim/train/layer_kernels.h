#pragma once

#include <cstdint>
#include <vector>

#include "sim/calibration/calibration.h"
#include "sim/machine/compute_unit.h"
#include "sim/train/training_setup.h"

namespace hoccl::sim {

/// Part of a layer that one rank computes in one piece, between two collectives of its
/// tensor-parallel or expert-parallel group.
enum class LayerPart : std::uint8_t { kAttention, kFeedForward };

/// A kernel of the program's: a matrix product or an attention, with the small kernels around it.
struct LayerKernel {
  ComputeKernel kernel;
  int launches = 0;  ///< of the framework
};

/// What one rank runs for one part of one layer and micro-batch, in the order of `phase`.
std::vector<LayerKernel> layer_kernels(const TrainingSetup& setup, const Calibration& machine,
                                       LayerPart part, Phase phase);
/// The output layer and the loss, on the last stage.
LayerKernel output_kernel(const TrainingSetup& setup, const Calibration& machine, Phase phase);
/// The distributed optimiser's step over this rank's share of the parameters.
LayerKernel optimiser_kernel(const TrainingSetup& setup, const Calibration& machine);

/// Activations of one micro-batch between two layers, on all ranks of a tensor-parallel group.
engine::Bytes activation_size(const TrainingSetup& setup);
/// Parameters of a model chunk on one rank.
struct ChunkParameters {
  std::int64_t shared = 0;   ///< by the whole data-parallel group
  std::int64_t experts = 0;  ///< by the ranks that hold the same experts
};
ChunkParameters chunk_parameters(const TrainingSetup& setup, int stage, int chunk);

}  // namespace hoccl::sim
