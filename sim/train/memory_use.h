#pragma once

#include <cstdint>

#include "sim/train/caching_allocator.h"
#include "sim/train/training_setup.h"

namespace hoccl::sim {

/// What the activations of a training run leave of the memory that the allocator holds.
struct MemoryUse {
  engine::Bytes needed;     ///< at the worst moment
  double fixed = 0.0;       ///< fragmentation with segments that NICs can register
  double expandable = 0.0;  ///< with those that they can not (VMM)
  [[nodiscard]] double extra() const { return fixed - expandable; }
};

/// Runs the allocations of one rank's activations through PyTorch's allocator, for `steps` steps:
/// every forward pass allocates what its backward pass frees, and what it needs inside a layer
/// only. Each micro-batch draws its own length, uniformly, up to the share `length_spread` (0 to
/// below 1) shorter than model.sequence. Weights, gradients and optimiser states stay and leave no
/// holes. NICs can read and write buffers in fixed segments only (VCCL registers them), so a system
/// that stages unregistered buffers may use expandable ones, and one that registers may not.
MemoryUse memory_use(const TrainingSetup& setup, engine::Rank rank, double length_spread,
                     std::uint64_t seed, int steps);

}  // namespace hoccl::sim
