#include "engine/schedule/rail_map.h"

#include <algorithm>
#include <utility>

namespace hoccl::engine {
namespace {

int nic_count(const Topology& topology, NodeId node) {
  return static_cast<int>(topology.nics_of(node).size());
}

/// Whether two end points, each of which rules out the NICs of its own GPU, always leave a rail.
bool always_leaves_a_rail(const Topology& topology) {
  if (topology.staging() == StagingKind::kHost) return true;
  std::size_t most = 0;
  for (int gpu = 0; gpu < topology.gpu_count(); ++gpu) {
    most = std::max(most, topology.nics_of(GpuId(gpu)).size());
  }
  return 2 * most < static_cast<std::size_t>(topology.rail_count());
}

}  // namespace

RailMap::RailMap(const Topology& topology) : topology_(topology) {
  for (int i = 0; i < topology.rank_count(); ++i) {
    const GpuId gpu = topology.gpu_of(Rank(i));
    rank_gpus_.push_back(topology.gpu(gpu).physical);
    rank_indices_.push_back(topology.gpu(gpu).index);
    rank_nodes_.push_back(topology.gpu(gpu).node);
  }
  for (int i = 0; i < topology.nic_count(); ++i) {
    const PlaceId place = topology.place_of(NicId(i));
    slot_gpus_.push_back(topology.is_host(place) ? kNoGpu
                                                 : topology.gpu(topology.gpu_of(place)).physical);
  }
  bool equal = true;
  for (int i = 0; i < topology.node_count(); ++i) {
    equal = equal && nic_count(topology, NodeId(i)) == topology.rail_count();
  }
  nodes_are_ports_ = equal && always_leaves_a_rail(topology);
}

int RailMap::pair_count(NodeId source, NodeId target) const {
  return std::min(nic_count(topology_, source), nic_count(topology_, target));
}

int RailMap::pairing_count(NodeId source, NodeId target) const {
  return std::max(nic_count(topology_, source), nic_count(topology_, target));
}

NicPair RailMap::pair(NodeId source, NodeId target, int pairing, int index) const {
  const auto senders = topology_.nics_of(source);
  const auto receivers = topology_.nics_of(target);
  const bool larger_sends = senders.size() > receivers.size();
  const auto& few = larger_sends ? receivers : senders;
  const auto& many = larger_sends ? senders : receivers;
  const auto in_few = static_cast<std::size_t>(index);
  std::size_t turned = in_few + static_cast<std::size_t>(pairing);
  if (senders.size() != receivers.size()) {
    turned += (larger_sends ? target : source).index() * few.size();
  }
  const NicId one = few[in_few];
  const NicId other = many[turned % many.size()];
  return larger_sends ? NicPair{other, one} : NicPair{one, other};
}

}  // namespace hoccl::engine
