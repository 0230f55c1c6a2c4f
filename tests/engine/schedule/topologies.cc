#include "tests/engine/schedule/topologies.h"

#include <fmt/format.h>

#include "engine/base/config_error.h"

namespace hoccl::engine {

TopologyDescription cluster_description(int nodes, int gpus, int nics_per_gpu) {
  TopologyDescription result;
  result.name = fmt::format("test-{}x{}", nodes, gpus);
  result.gpus_per_node.assign(static_cast<std::size_t>(nodes), gpus);
  result.nvlink = {kNvlinkRate, kNvlinkRate};
  result.pcie = {BytesPerSecond(60e9), BytesPerSecond(45e9)};
  for (int node = 0; node < nodes; ++node) {
    for (int gpu = 0; gpu < gpus; ++gpu) {
      for (int nic = 0; nic < nics_per_gpu; ++nic) result.nics.push_back({node, gpu, kNicRate});
    }
  }
  return result;
}

Topology cluster(int nodes, int gpus, int nics_per_gpu) {
  return Topology(cluster_description(nodes, gpus, nics_per_gpu));
}

Topology host_staged_cluster(int nodes, int gpus) {
  TopologyDescription description = cluster_description(nodes, gpus);
  description.staging = StagingKind::kHost;
  return Topology(std::move(description));
}

std::string refusal(const std::function<void()>& action) {
  try {
    action();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace hoccl::engine
