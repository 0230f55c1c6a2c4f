#include "sim/run/workload.h"

#include <map>

#include "engine/rank_share.h"
#include "sim/run/system_kind.h"

namespace hoccl::sim {

using engine::Bytes;
using engine::Flow;
using engine::Rank;
using engine::Region;

namespace {

/// What CompileOptions::rails means by 0.
int rails_of(const engine::CompileOptions& options) {
  const bool one = options.rails == 0 && options.forwarding == engine::Forwarding::kSymmetric;
  return one ? 1 : options.rails;
}

}  // namespace

engine::Pattern pattern_of(const Scenario& scenario, Bytes size) {
  if (!scenario.plan) {
    return engine::pattern_of(scenario.traffic, size, scenario.topology.rank_count());
  }
  // A saved plan of a pattern that we do not know still has a size.
  engine::Pattern pattern;
  pattern.name = scenario.plan->pattern;
  pattern.rank_count = scenario.plan->rank_count;
  pattern.message_size = scenario.plan->message_size;
  pattern.flows = engine::flows_of(*scenario.plan);
  return pattern;
}

engine::Bound bound_of(const Scenario& scenario, const engine::Pattern& pattern,
                       const engine::Rates& rates) {
  if (scenario.plan) return engine::plan_bound(*scenario.plan, scenario.topology, rates);
  const bool own_nic = scenario.compile.forwarding == engine::Forwarding::kOwnNic;
  if (uses_pxn(scenario)) return engine::rail_relay_bound(pattern, scenario.topology, rates);
  if (own_nic || kind_of(scenario.system) != SystemKind::kHoccl) {
    return engine::own_nic_bound(pattern, scenario.topology, rates);
  }
  return engine::pattern_bound(pattern, scenario.topology, rates, rails_of(scenario.compile));
}

Workload::Workload(const Scenario& scenario, Bytes size, SimFabric& fabric)
    : buffers_(static_cast<std::size_t>(scenario.topology.rank_count())) {
  const engine::Traffic& traffic = scenario.traffic;
  const int rank_count = scenario.topology.rank_count();
  const engine::Pattern pattern = pattern_of(scenario, size);
  if (scenario.plan || traffic.flows != nullptr) {
    use_plans(scenario, pattern);
  } else if (engine::is_send_recv(traffic.request.name)) {
    flows_ = pattern.flows;
  } else {
    collective_ = engine::CollectiveRequest{.pattern = traffic.request};
    collective_->pattern.size = size;
    matrix_ = engine::matrix_of(traffic, size, rank_count);
    traffic_ = traffic;
    ranks_ = engine::members_of(traffic, rank_count);
    // HOCCL's callers know their own row only.
    all_know_the_counts_ = kind_of(scenario.system) != SystemKind::kHoccl;
  }
  // Every rank of a collective calls it, of other patterns those with something to move.
  if (!collective_) ranks_ = engine::ranks_of(pattern.flows, rank_count);
  if (ranks_.empty()) ranks_ = engine::members_of({}, rank_count);  // nothing at all: all call that
  members_ = std::make_shared<const std::vector<Rank>>(ranks_);
  allocate(fabric, pattern.flows);
}

void Workload::use_plans(const Scenario& scenario, const engine::Pattern& pattern) {
  const engine::Topology& topology = scenario.topology;
  if (scenario.plan) {
    const auto whole = std::make_shared<const engine::Plan>(*scenario.plan);
    plans_.assign(static_cast<std::size_t>(topology.rank_count()), whole);
    return;
  }
  std::map<engine::NodeId, std::shared_ptr<const engine::Plan>> of_node;
  for (int number = 0; number < topology.rank_count(); ++number) {
    const engine::NodeId node = topology.node_of(Rank(number));
    auto& plan = of_node[node];
    if (plan == nullptr) {
      plan = std::make_shared<const engine::Plan>(
          engine::compile_for_node(pattern, topology, scenario.compile, node));
    }
    plans_.push_back(plan);
  }
}

void Workload::allocate(SimFabric& fabric, std::span<const Flow> flows) {
  const auto sizes = engine::buffer_sizes_by_rank(flows, static_cast<int>(buffers_.size()));
  for (const Rank rank : ranks_) {
    Buffers& buffers = buffers_[rank.index()];
    buffers.send.size = sizes[rank.index()].send;
    buffers.receive.size = sizes[rank.index()].receive;
    for (Region* region : {&buffers.send, &buffers.receive}) {
      if (region->size > Bytes(0)) region->buffer = fabric.allocate(rank, region->size);
    }
  }
}

std::shared_ptr<engine::Work> Workload::enqueue(System& system, Rank rank,
                                                engine::StreamId stream) {
  const Buffers& buffers = buffers_[rank.index()];
  if (!plans_.empty()) {
    return system.run(rank, {plans_[rank.index()], buffers.send, buffers.receive, members_},
                      stream);
  }
  if (collective_) {
    engine::CollectiveRequest request = *collective_;
    request.send_buffer = buffers.send;
    request.receive_buffer = buffers.receive;
    if (matrix_ != nullptr) {
      if (all_know_the_counts_) {
        request.matrix = matrix_;
      } else {
        request.row = engine::row_of(*matrix_, traffic_, rank);
      }
    }
    return system.rank(rank).enqueue(request, stream);
  }
  return system.rank(rank).enqueue(engine::requests_of(flows_, rank, buffers.send, buffers.receive),
                                   stream);
}

}  // namespace hoccl::sim
