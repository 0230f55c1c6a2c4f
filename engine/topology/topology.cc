#include "engine/topology/topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/config_error.h"
#include "engine/topology/limits.h"
#include "engine/topology/validate.h"

namespace hoccl::engine {

Topology::Topology(TopologyDescription description) : description_(std::move(description)) {
  validate(description_, fmt::format("topology '{}'", description_.name));
  add_gpus();
  add_nics();
  add_ranks();
}

void Topology::add_gpus() {
  for (const int count : description_.gpus_per_node) {
    const NodeId node(node_gpus_.size());
    node_gpus_.emplace_back();
    for (int index = 0; index < count; ++index) {
      const GpuId gpu(gpus_.size());
      gpus_.push_back({node, index, description_.shared_device ? 0 : gpu.value()});
      node_gpus_.back().push_back(gpu);
    }
  }
  device_count_ = description_.shared_device ? 1 : gpu_count();
}

void Topology::add_nics() {
  // Sorted by node, so that ids count up node by node whatever the order of the description.
  std::vector<NicDescription> sorted = description_.nics;
  std::ranges::stable_sort(sorted, {}, &NicDescription::node);
  node_nics_.resize(node_gpus_.size());
  gpu_nics_.resize(gpus_.size());
  for (const NicDescription& described : sorted) {
    const NicId id(nics_.size());
    const NodeId node(described.node);
    auto& of_node = node_nics_[node.index()];
    const GpuId gpu = node_gpus_[node.index()][static_cast<std::size_t>(described.gpu)];
    nics_.push_back({node, gpu, static_cast<int>(of_node.size()), described.rate});
    of_node.push_back(id);
    gpu_nics_[gpu.index()].push_back(id);
    rail_count_ = std::max(rail_count_, static_cast<int>(of_node.size()));
  }
}

void Topology::add_ranks() {
  if (description_.rank_gpus.empty()) {
    for (const auto& of_node : node_gpus_) {
      rank_gpus_.insert(rank_gpus_.end(), of_node.begin(), of_node.end());
    }
  } else {
    for (const int gpu : description_.rank_gpus) rank_gpus_.emplace_back(gpu);
  }
  gpu_rank_.resize(gpus_.size(), Rank::none());
  node_ranks_.resize(node_gpus_.size());
  for (std::size_t i = 0; i < rank_gpus_.size(); ++i) {
    const Rank rank(i);
    gpu_rank_[rank_gpus_[i].index()] = rank;
    node_ranks_[gpu(rank_gpus_[i]).node.index()].push_back(rank);
  }
}

Topology Topology::with_ranks(int count) const {
  const int most = description_.shared_device ? kMaxLogicalNodes : rank_count();
  if (count < 1 || count > most) {
    throw ConfigError(
        fmt::format("topology '{}': key 'ranks' = {}: expected 1 to {}", name(), count, most));
  }
  if (count == rank_count()) return *this;
  return description_.shared_device ? with_logical_nodes(count) : with_even_share(count);
}

Topology Topology::with_logical_nodes(int count) const {
  TopologyDescription result = description_;
  result.gpus_per_node.assign(static_cast<std::size_t>(count), 1);
  result.rank_gpus.clear();
  result.nics.clear();
  for (int node = 0; node < count; ++node) {
    for (NicDescription nic : description_.nics) {
      if (nic.node != 0) continue;
      nic.node = node;
      result.nics.push_back(nic);
    }
  }
  return Topology(std::move(result));
}

Topology Topology::with_even_share(int count) const {
  const auto share = [&](NodeId node) {
    return count / node_count() + (node.value() < count % node_count() ? 1 : 0);
  };
  for (int i = 0; i < node_count(); ++i) {
    const NodeId node(i);
    const auto places = static_cast<int>(ranks_of(node).size());
    if (share(node) > places) {
      throw ConfigError(
          fmt::format("topology '{}': key 'ranks' = {}: expected a count that spreads evenly over "
                      "{} nodes; node {} "
                      "would need {} places and has {}",
                      name(), count, node_count(), node, share(node), places));
    }
  }
  TopologyDescription result = description_;
  result.rank_gpus.clear();
  for (int i = 0; i < rank_count(); ++i) {
    const Rank rank(i);
    if (local_index(rank) < share(node_of(rank))) {
      result.rank_gpus.push_back(gpu_of(rank).value());
    }
  }
  return Topology(std::move(result));
}

const Gpu& Topology::gpu(GpuId gpu) const {
  HOCCL_CHECK(gpu.value() >= 0 && gpu.value() < gpu_count(), "GPU {} of {}", gpu, gpu_count());
  return gpus_[gpu.index()];
}

const Nic& Topology::nic(NicId nic) const {
  HOCCL_CHECK(nic.value() >= 0 && nic.value() < nic_count(), "NIC {} of {}", nic, nic_count());
  return nics_[nic.index()];
}

std::span<const GpuId> Topology::gpus_of(NodeId node) const {
  HOCCL_CHECK(node.value() >= 0 && node.value() < node_count(), "node {} of {}", node,
              node_count());
  return node_gpus_[node.index()];
}

std::span<const NicId> Topology::nics_of(GpuId gpu) const {
  HOCCL_CHECK(gpu.value() >= 0 && gpu.value() < gpu_count(), "GPU {} of {}", gpu, gpu_count());
  return gpu_nics_[gpu.index()];
}

std::span<const NicId> Topology::nics_of(NodeId node) const {
  HOCCL_CHECK(node.value() >= 0 && node.value() < node_count(), "node {} of {}", node,
              node_count());
  return node_nics_[node.index()];
}

GpuId Topology::symmetric_partner(GpuId gpu) const {
  const Gpu& self = this->gpu(gpu);
  const auto& of_node = node_gpus_[self.node.index()];
  const auto partner = static_cast<std::size_t>(self.index ^ 1);
  return partner < of_node.size() ? of_node[partner] : GpuId::none();
}

NicId Topology::nic_on_rail(NodeId node, int rail) const {
  const std::span<const NicId> of_node = nics_of(node);
  const bool exists = rail >= 0 && static_cast<std::size_t>(rail) < of_node.size();
  return exists ? of_node[static_cast<std::size_t>(rail)] : NicId::none();
}

}  // namespace hoccl::engine
