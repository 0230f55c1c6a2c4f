#include "engine/schedule/self_copy.h"

#include <fmt/format.h>

#include "engine/base/config_error.h"

namespace hoccl::engine {

PlaceId self_copy_place(const RailMap& rails, Rank rank) {
  const Topology& topology = rails.topology();
  const NodeId node = rails.node_of(rank);
  if (topology.staging() == StagingKind::kHost) return topology.host_place(node);
  const auto gpus = topology.gpus_of(node);
  const auto own = static_cast<std::size_t>(topology.gpu(topology.gpu_of(rank)).index);
  for (std::size_t step = 1; step < gpus.size(); ++step) {
    const GpuId next = gpus[(own + step) % gpus.size()];
    if (topology.gpu(next).physical != rails.gpu_of(rank)) return topology.gpu_place(next);
  }
  throw ConfigError(fmt::format(
      "topology '{}': node {} has {} GPU(s): expected another one for rank {}'s own share to pass "
      "through, because no leg copies within one GPU; --in-place needs none",
      topology.name(), node, gpus.size(), rank));
}

Transfer self_copy(const RailMap& rails, const PairFlow& share) {
  Transfer transfer = transfer_of(share);
  transfer.route = Route::kRelayed;
  transfer.via = self_copy_place(rails, share.source);
  return transfer;
}

}  // namespace hoccl::engine
