#include "engine/schedule/delivery.h"

#include "engine/schedule/predecessors.h"

namespace hoccl::engine {

std::vector<Delivery> deliveries_of(const Plan& plan) {
  struct Origin {
    Rank rank;
    Bytes offset;
  };
  const std::vector<std::size_t> predecessors = predecessors_of(plan);
  std::vector<Origin> origins;
  origins.reserve(plan.transfers.size());
  std::vector<Delivery> deliveries;
  for (std::size_t i = 0; i < plan.transfers.size(); ++i) {
    const Transfer& transfer = plan.transfers[i];
    Origin origin{transfer.source, transfer.source_offset};
    if (predecessors[i] != kNoTransfer) {
      // An earlier id, so its origin is known. That our source offset is where that one delivers is
      // the path check's to say.
      origin = origins[predecessors[i]];
    }
    origins.push_back(origin);
    for (const Rank target : targets_of(transfer)) {
      deliveries.push_back({.origin = origin.rank,
                            .target = target,
                            .origin_offset = origin.offset,
                            .target_offset = transfer.target_offset,
                            .size = transfer.size,
                            .flow_class = transfer.flow_class,
                            .transfer = i});
    }
  }
  return deliveries;
}

}  // namespace hoccl::engine
