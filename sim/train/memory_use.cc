#include "sim/train/memory_use.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "engine/base/random.h"
#include "sim/train/pipeline_slots.h"

namespace hoccl::sim {

using engine::Bytes;

namespace {

/// Tensors that a layer keeps for its backward pass, in bytes per token and hidden value, over all
/// tensor-parallel ranks (Korthikanti et al. 2022, 34 s b h with sequence parallelism and without
/// stored attention scores): norms' and products' inputs, queries, keys and values, the attention's
/// output, both sides of the activation function, and masks.
constexpr std::array<double, 9> kKept = {2.0, 2.0, 6.0, 2.0, 2.0, 8.0, 8.0, 2.0, 2.0};
/// Needed while a layer runs: the gathered input of each part, and the MLP's product.
constexpr std::array<double, 3> kTemporary = {2.0, 2.0, 8.0};

/// Both allocators see the same calls.
class Pair {
 public:
  std::size_t allocate(Bytes size) {
    blocks_.emplace_back(fixed.allocate(size), expandable.allocate(size));
    return blocks_.size() - 1;
  }
  void free(std::size_t block) {
    fixed.free(blocks_[block].first);
    expandable.free(blocks_[block].second);
  }

  CachingAllocator fixed{SegmentKind::kFixed};
  CachingAllocator expandable{SegmentKind::kExpandable};

 private:
  std::vector<std::pair<CachingAllocator::BlockId, CachingAllocator::BlockId>> blocks_;
};

Bytes scaled(double bytes_per_value, std::int64_t tokens, const TrainingSetup& setup) {
  const double values = static_cast<double>(tokens) * setup.model.hidden;
  return Bytes(static_cast<std::int64_t>(bytes_per_value * values / setup.layout.tensor));
}

}  // namespace

MemoryUse memory_use(const TrainingSetup& setup, engine::Rank rank, double length_spread,
                     std::uint64_t seed, int steps) {
  engine::Random random(seed);
  Pair memory;
  const int stage = position_of(setup.layout, rank).stage;
  const auto longest = std::int64_t{setup.model.sequence};
  const auto shortest =
      static_cast<std::int64_t>(static_cast<double>(longest) * (1.0 - length_spread));
  std::map<std::pair<int, int>, std::vector<std::size_t>> kept;  // by micro-batch and chunk
  std::vector<std::int64_t> tokens(static_cast<std::size_t>(setup.layout.microbatches));
  const auto pass = [&](const PipelineSlot& slot, std::int64_t count) {
    const int layers = layers_of(setup.layout, setup.model.layers, stage, slot.chunk).count;
    std::vector<std::size_t>& blocks = kept[{slot.microbatch, slot.chunk}];
    for (int layer = 0; layer < layers; ++layer) {
      std::vector<std::size_t> temporary;
      for (const double size : kTemporary) {
        temporary.push_back(memory.allocate(scaled(size, count, setup) * setup.layout.tensor));
      }
      if (slot.forward) {
        for (const double size : kKept)
          blocks.push_back(memory.allocate(scaled(size, count, setup)));
      }
      for (const std::size_t block : temporary) memory.free(block);
    }
    if (slot.forward) return;
    for (const std::size_t block : blocks) memory.free(block);
    blocks.clear();
  };
  for (int step = 0; step < steps; ++step) {
    for (std::int64_t& each : tokens) {
      each = random.between(std::max<std::int64_t>(shortest, 1), longest) * setup.layout.microbatch;
    }
    for (const PipelineSlot& slot : pipeline_slots(setup.layout, stage)) {
      pass(slot, tokens[static_cast<std::size_t>(slot.microbatch)]);
    }
  }
  return {.needed = memory.fixed.peak_allocated(),
          .fixed = memory.fixed.fragmentation(),
          .expandable = memory.expandable.fragmentation()};
}

}  // namespace hoccl::sim
