#include "tests/fuzz/schedule_topology.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace hoccl::engine {
namespace {

constexpr int kMostNodes = 4;
constexpr int kMostGpus = 4;
constexpr int kMostNicsPerGpu = 2;

int draw(Random& random, int low, int high) { return static_cast<int>(random.between(low, high)); }

/// With one GPU in a node a peer's memory is nowhere to be found: rarely, as plans are to be had.
int draw_gpus(Random& random, StagingKind staging) {
  const bool may_be_alone = staging == StagingKind::kHost || random.chance(0.1);
  return draw(random, may_be_alone ? 1 : 2, kMostGpus);
}

std::vector<int> draw_nodes(Random& random, StagingKind staging) {
  std::vector<int> gpus(static_cast<std::size_t>(draw(random, 1, kMostNodes)));
  const bool equal = random.chance(0.5);
  const int all = draw_gpus(random, staging);
  for (int& count : gpus) count = equal ? all : draw_gpus(random, staging);
  return gpus;
}

/// How many NICs every GPU of a node has.
std::vector<int> draw_nic_counts(Random& random, int gpus, StagingKind staging) {
  std::vector<int> counts(static_cast<std::size_t>(gpus));
  for (int& count : counts) count = draw(random, 0, kMostNicsPerGpu);
  // A node must have one; where slots are in a peer's memory, one GPU's NICs do not serve it.
  const auto bare = [](int count) { return count == 0; };
  const auto needed = staging == StagingKind::kHost || random.chance(0.1) ? 1 : std::min(2, gpus);
  while (gpus - std::ranges::count_if(counts, bare) < needed) {
    *std::ranges::find_if(counts, bare) = draw(random, 1, kMostNicsPerGpu);
  }
  return counts;
}

void draw_nics(Random& random, TopologyDescription& description) {
  const bool all_alike = random.chance(0.5);
  const bool every_node_alike = random.chance(0.5);
  const int each = random.chance(0.8) ? 1 : 2;
  std::vector<int> pattern = draw_nic_counts(random, kMostGpus, description.staging);
  for (std::size_t node = 0; node < description.gpus_per_node.size(); ++node) {
    const int gpus = description.gpus_per_node[node];
    std::vector<int> counts = all_alike ? std::vector<int>(static_cast<std::size_t>(gpus), each)
                              : every_node_alike && gpus == kMostGpus
                                  ? pattern
                                  : draw_nic_counts(random, gpus, description.staging);
    for (int gpu = 0; gpu < gpus; ++gpu) {
      for (int nic = 0; nic < counts[static_cast<std::size_t>(gpu)]; ++nic) {
        description.nics.push_back({static_cast<int>(node), gpu, BytesPerSecond(50e9)});
      }
    }
  }
}

void shuffle(Random& random, std::vector<int>& values) {
  for (std::size_t i = values.size(); i > 1; --i) {
    const auto last = static_cast<std::int64_t>(i) - 1;
    std::swap(values[i - 1], values[static_cast<std::size_t>(random.between(0, last))]);
  }
}

/// Ranks on some GPUs, in any order.
std::vector<int> draw_ranks(Random& random, const std::vector<int>& gpus_per_node) {
  std::vector<int> gpus(
      static_cast<std::size_t>(std::accumulate(gpus_per_node.begin(), gpus_per_node.end(), 0)));
  std::iota(gpus.begin(), gpus.end(), 0);
  shuffle(random, gpus);
  const int least = std::min(2, static_cast<int>(gpus.size()));
  gpus.resize(static_cast<std::size_t>(draw(random, least, static_cast<int>(gpus.size()))));
  if (random.chance(0.5)) std::ranges::sort(gpus);
  return gpus;
}

}  // namespace

Topology draw_small_cluster(Random& random) {
  if (random.chance(0.08)) return resolve_topology("h200-1x1").with_ranks(draw(random, 2, 4));
  TopologyDescription description;
  description.name = "drawn";
  description.staging = random.chance(0.3) ? StagingKind::kHost : StagingKind::kPeer;
  description.gpus_per_node = draw_nodes(random, description.staging);
  description.nvlink = {BytesPerSecond(200e9), BytesPerSecond(200e9)};
  description.pcie = {BytesPerSecond(60e9), BytesPerSecond(45e9)};
  draw_nics(random, description);
  if (random.chance(0.3)) description.rank_gpus = draw_ranks(random, description.gpus_per_node);
  return Topology(std::move(description));
}

}  // namespace hoccl::engine
