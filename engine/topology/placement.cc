// Where ranks and staging slots live: the rank and place queries of Topology.
#include "engine/base/check.h"
#include "engine/topology/topology.h"

namespace hoccl::engine {

GpuId Topology::gpu_of(Rank rank) const {
  HOCCL_CHECK(rank.value() >= 0 && rank.value() < rank_count(), "rank {} of {}", rank,
              rank_count());
  return rank_gpus_[rank.index()];
}

NodeId Topology::node_of(Rank rank) const { return gpu(gpu_of(rank)).node; }

std::span<const Rank> Topology::ranks_of(NodeId node) const {
  HOCCL_CHECK(node.value() >= 0 && node.value() < node_count(), "node {} of {}", node,
              node_count());
  return node_ranks_[node.index()];
}

int Topology::local_index(Rank rank) const {
  int position = 0;
  for (const Rank other : ranks_of(node_of(rank))) {
    if (other == rank) return position;
    ++position;
  }
  HOCCL_CHECK(false, "rank {} is not among the ranks of its node", rank);
}

std::optional<Rank> Topology::rank_on(GpuId gpu) const {
  HOCCL_CHECK(gpu.value() >= 0 && gpu.value() < gpu_count(), "GPU {} of {}", gpu, gpu_count());
  const Rank rank = gpu_rank_[gpu.index()];
  return rank.is_none() ? std::nullopt : std::optional(rank);
}

PlaceId Topology::gpu_place(GpuId gpu) const {
  HOCCL_CHECK(gpu.value() >= 0 && gpu.value() < gpu_count(), "GPU {} of {}", gpu, gpu_count());
  return PlaceId(gpu.value());
}

PlaceId Topology::host_place(NodeId node) const {
  HOCCL_CHECK(node.value() >= 0 && node.value() < node_count(), "node {} of {}", node,
              node_count());
  return PlaceId(gpu_count() + node.value());
}

PlaceId Topology::place_of(GpuId gpu) const {
  switch (staging()) {
    case StagingKind::kPeer:
      return gpu_place(gpu);
    case StagingKind::kHost:
      return host_place(this->gpu(gpu).node);
  }
  HOCCL_CHECK(false, "staging kind {}", static_cast<int>(staging()));
}

PlaceId Topology::place_of(NicId nic) const { return place_of(this->nic(nic).gpu); }

bool Topology::is_host(PlaceId place) const {
  HOCCL_CHECK(place.value() >= 0 && place.value() < place_count(), "place {} of {}", place,
              place_count());
  return place.value() >= gpu_count();
}

GpuId Topology::gpu_of(PlaceId place) const {
  return is_host(place) ? GpuId::none() : GpuId(place.value());
}

NodeId Topology::node_of(PlaceId place) const {
  return is_host(place) ? NodeId(place.value() - gpu_count()) : gpu(GpuId(place.value())).node;
}

bool Topology::can_use(Rank rank, NicId nic) const {
  return this->nic(nic).gpu == gpu_of(rank) || host_of(place_of(nic)) == rank;
}

Rank Topology::host_of(PlaceId place) const {
  if (!is_host(place)) {
    const std::optional<Rank> resident = rank_on(GpuId(place.value()));
    if (resident) return *resident;
  }
  const std::span<const Rank> local = ranks_of(node_of(place));
  return local.empty() ? Rank::none() : local.front();
}

}  // namespace hoccl::engine
