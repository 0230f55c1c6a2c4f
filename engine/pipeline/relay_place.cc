#include "engine/pipeline/relay_place.h"

#include "engine/topology/topology.h"

namespace hoccl::engine {
namespace {

/// No leg copies within one GPU, and somebody must serve the slots, which must hold a chunk.
bool can_relay(const Port& port, PlaceId place, Rank source, Rank target, Bytes chunk_size) {
  const Topology& topology = port.topology();
  const auto is_on = [&](Rank rank) {
    return topology.gpu(topology.gpu_of(place)).physical ==
           topology.gpu(topology.gpu_of(rank)).physical;
  };
  if (!topology.is_host(place) && (is_on(source) || is_on(target))) return false;
  if (topology.host_of(place).is_none()) return false;
  const StagingPlace& staging = port.staging(place);
  return staging.send_slot_count > 0 && chunk_size <= staging.slot_size;
}

}  // namespace

PlaceId relay_place(const Port& port, Rank source, Rank target, Bytes chunk_size) {
  const Topology& topology = port.topology();
  if (topology.node_of(source) != topology.node_of(target)) return PlaceId::none();
  const auto gpus = topology.gpus_of(topology.node_of(source));
  const auto index = [&](Rank rank) {
    return static_cast<std::size_t>(topology.gpu(topology.gpu_of(rank)).index);
  };
  // For a fixed source every target begins at another GPU, and the other way round.
  for (std::size_t step = 0; step < gpus.size(); ++step) {
    const GpuId gpu = gpus[(index(source) + index(target) + step) % gpus.size()];
    const PlaceId place = topology.place_of(gpu);
    if (can_relay(port, place, source, target, chunk_size)) return place;
  }
  return PlaceId::none();
}

}  // namespace hoccl::engine
