#pragma once

#include <cstdint>

#include "engine/base/units.h"

namespace hoccl::sim {

/// A GPT-like transformer, as far as its times and messages depend on it.
struct ModelShape {
  int layers = 0;
  int hidden = 0;
  int heads = 0;
  int feed_forward = 0;  ///< inner width of the MLP
  int sequence = 0;      ///< tokens per sample
  int vocabulary = 0;    ///< padded
  /// MLPs per layer, each token going through one of them; 1: a dense model.
  int experts = 1;

  bool operator==(const ModelShape&) const = default;
};

/// Weights of one layer: attention, MLPs (all experts), norms and biases.
std::int64_t layer_parameters(const ModelShape& model);
/// Of the whole model; the embedding is shared with the output layer.
std::int64_t parameters(const ModelShape& model);

/// Floating-point operations of a forward and a backward pass over `samples` sequences without
/// recomputation, as Megatron-LM counts them: 72 B s l h^2 (1 + s / 6h + V / 12 l h), generalised
/// to any width of the MLP. Experts do not change it: every token goes through one.
double step_operations(const ModelShape& model, std::int64_t samples);

}  // namespace hoccl::sim
