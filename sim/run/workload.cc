#include "sim/run/workload.h"

#include <algorithm>

#include "engine/base/check.h"
#include "sim/rivals/nccl_send_recv.h"

namespace hoccl::sim {

using engine::Bytes;
using engine::Flow;
using engine::Rank;
using engine::Region;
using engine::SendRecvRequest;
using Side = engine::SendRecvRequest::Side;

namespace {

std::vector<Flow> flows_of(const engine::Plan& plan) {
  std::vector<Flow> flows;
  for (const engine::Transfer& transfer : plan.transfers) {
    flows.push_back({.source = transfer.source,
                     .target = transfer.target,
                     .source_offset = transfer.source_offset,
                     .target_offset = transfer.target_offset,
                     .size = transfer.size});
  }
  return flows;
}

Region part(const Region& buffer, Bytes offset, Bytes size) {
  return {.buffer = buffer.buffer, .offset = offset, .size = size};
}

}  // namespace

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
    flows_ = flows_of(*plan_);
  } else {
    flows_ = pattern_of(scenario, size).flows;
  }
  for (const Flow& flow : flows_) {
    grow(buffers_[flow.source.index()].send, flow.source_offset + flow.size);
    grow(buffers_[flow.target.index()].receive, flow.target_offset + flow.size);
    ranks_.push_back(flow.source);
    ranks_.push_back(flow.target);
  }
  std::ranges::sort(ranks_);
  const auto repeated = std::ranges::unique(ranks_);
  ranks_.erase(repeated.begin(), repeated.end());
  allocate(fabric);
}

void Workload::grow(Region& region, Bytes end) { region.size = std::max(region.size, end); }

void Workload::allocate(SimFabric& fabric) {
  for (const Rank rank : ranks_) {
    Buffers& buffers = buffers_[rank.index()];
    for (Region* region : {&buffers.send, &buffers.receive}) {
      if (region->size > Bytes(0)) region->buffer = fabric.allocate(rank, region->size);
    }
  }
}

std::shared_ptr<engine::Work> Workload::enqueue(System& system, Rank rank,
                                                engine::StreamId stream) {
  const Buffers& buffers = buffers_[rank.index()];
  if (plan_ != nullptr) return system.run(rank, plan_, buffers.send, buffers.receive, stream);
  std::vector<SendRecvRequest> group;
  for (const Flow& flow : flows_) {
    if (flow.source == rank) {
      group.push_back({.side = Side::kSend,
                       .peer = flow.target,
                       .buffer = part(buffers.send, flow.source_offset, flow.size)});
    }
    if (flow.target == rank) {
      group.push_back({.side = Side::kReceive,
                       .peer = flow.source,
                       .buffer = part(buffers.receive, flow.target_offset, flow.size)});
    }
  }
  return system.rank(rank).enqueue(group, stream);
}

}  // namespace hoccl::sim
