#include "sim/run/workload.h"

#include <algorithm>

#include "engine/rank_share.h"
#include "sim/rivals/nccl_send_recv.h"

namespace hoccl::sim {

using engine::Bytes;
using engine::Flow;
using engine::Rank;
using engine::Region;

engine::Pattern pattern_of(const Scenario& scenario, Bytes size) {
  return engine::make_pattern({.name = scenario.pattern,
                               .source = scenario.source,
                               .target = scenario.target,
                               .size = size},
                              scenario.topology.rank_count());
}

engine::Bound bound_of(const Scenario& scenario, Bytes size, const engine::Rates& rates) {
  if (scenario.plan) return engine::plan_bound(*scenario.plan, scenario.topology, rates);
  const engine::Pattern pattern = pattern_of(scenario, size);
  if (is_nccl_system(scenario.system)) {
    return engine::bound_for_kernel_copies(pattern, scenario.topology, rates);
  }
  return engine::pattern_bound(pattern, scenario.topology, rates, scenario.compile.rails);
}

Workload::Workload(const Scenario& scenario, Bytes size, SimFabric& fabric)
    : buffers_(static_cast<std::size_t>(scenario.topology.rank_count())) {
  if (scenario.plan) {
    plan_ = std::make_shared<const engine::Plan>(*scenario.plan);
    flows_ = engine::flows_of(*plan_);
  } else {
    flows_ = pattern_of(scenario, size).flows;
  }
  for (const Flow& flow : flows_) {
    ranks_.push_back(flow.source);
    ranks_.push_back(flow.target);
  }
  std::ranges::sort(ranks_);
  const auto repeated = std::ranges::unique(ranks_);
  ranks_.erase(repeated.begin(), repeated.end());
  allocate(fabric);
}

void Workload::allocate(SimFabric& fabric) {
  for (const Rank rank : ranks_) {
    const engine::BufferSizes sizes = engine::buffer_sizes(flows_, rank);
    Buffers& buffers = buffers_[rank.index()];
    buffers.send.size = sizes.send;
    buffers.receive.size = sizes.receive;
    for (Region* region : {&buffers.send, &buffers.receive}) {
      if (region->size > Bytes(0)) region->buffer = fabric.allocate(rank, region->size);
    }
  }
}

std::shared_ptr<engine::Work> Workload::enqueue(System& system, Rank rank,
                                                engine::StreamId stream) {
  const Buffers& buffers = buffers_[rank.index()];
  if (plan_ != nullptr) return system.run(rank, plan_, buffers.send, buffers.receive, stream);
  return system.rank(rank).enqueue(engine::requests_of(flows_, rank, buffers.send, buffers.receive),
                                   stream);
}

}  // namespace hoccl::sim
