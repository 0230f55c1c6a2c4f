#include "engine/schedule/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "engine/base/check.h"
#include "engine/base/config_error.h"
#include "engine/schedule/flow_demand.h"
#include "engine/schedule/multicast_trees.h"
#include "engine/schedule/own_nic.h"
#include "engine/schedule/plan_builder.h"
#include "engine/schedule/ring_chain.h"
#include "engine/schedule/self_copy.h"
#include "engine/schedule/sort_flows.h"
#include "engine/schedule/stages.h"

namespace hoccl::engine {
namespace {

void require_options(const Pattern& pattern, const Topology& topology,
                     const CompileOptions& options) {
  if (pattern.rank_count != topology.rank_count()) {
    throw ConfigError(fmt::format("pattern {}: ranks = {}: expected {}, the ranks of topology '{}'",
                                  pattern.name, pattern.rank_count, topology.rank_count(),
                                  topology.name()));
  }
  require_in_range(options);
  for (const Flow& flow : pattern.flows) require_chunks(flow.size, options.chunk_size);
}

Plan head_of(const Pattern& pattern, const Topology& topology, const CompileOptions& options) {
  Plan plan;
  plan.pattern = pattern.name;
  plan.topology = topology.name();
  plan.rank_count = pattern.rank_count;
  plan.message_size = pattern.message_size;
  plan.chunk_size = options.chunk_size;
  plan.order = options.order;
  return plan;
}

/// Every flow on its own, over the paper's pairs of NICs.
void build_symmetric(Plan& plan, const Pattern& pattern, const RailMap& rails,
                     const CompileOptions& options) {
  std::vector<Multicast> multicasts =
      sort_flows(pattern, rails, options, [&](const PairFlow& flow) {
        if (flow.source != flow.target) {
          forward({.source = flow.source,
                   .target = flow.target,
                   .source_offset = flow.source_offset,
                   .target_offset = flow.target_offset,
                   .size = flow.size,
                   .flow_class = flow.flow_class},
                  rails.topology(), options.chunk_size, std::max(options.rails, 1), plan.transfers);
          return;
        }
        plan.transfers.push_back(self_copy(rails, flow));
      });
  const bool as_rings = options.algorithm == Algorithm::kRing;
  const RingChain rings(rails, options, as_rings ? multicasts : std::vector<Multicast>());
  std::int64_t rounds = 1;
  if (!as_rings) {
    MulticastTrees trees(rails, options, std::move(multicasts));
    trees.append(static_cast<std::int64_t>(plan.transfers.size()), std::nullopt, plan.transfers);
    rounds = trees.rounds();
  }
  const StageTable table =
      nic_stages(plan.transfers, rails.topology().nic_count(), options, rounds);
  assign_nic_stages(plan, table);
  // Ids in the order of the stages, which is easier to read.
  const auto singles = static_cast<std::ptrdiff_t>(
      std::ranges::count_if(plan.transfers, [](const Transfer& t) { return t.id.is_none(); }));
  std::ranges::stable_sort(plan.transfers.begin(), plan.transfers.begin() + singles, {},
                           [&](const Transfer& transfer) { return first_stage(plan, transfer); });
  for (std::ptrdiff_t i = 0; i < singles; ++i) {
    plan.transfers[static_cast<std::size_t>(i)].id = FlowId(i);
  }
  if (!rings.empty()) rings.append(singles, table.stage_count(), plan.transfers);
}

Plan compile_part(const Pattern& pattern, const Topology& topology, const CompileOptions& options,
                  std::optional<NodeId> node) {
  require_options(pattern, topology, options);
  Plan plan = head_of(pattern, topology, options);
  const RailMap rails(topology);
  // Where NICs are the ports, or rings number their hops, a part cannot be had without the whole.
  const bool part_alone = options.forwarding == Forwarding::kBalanced && rails.nodes_are_ports() &&
                          options.algorithm != Algorithm::kRing;
  const std::optional<NodeId> alone = part_alone ? node : std::nullopt;
  switch (options.forwarding) {
    case Forwarding::kSymmetric:
      build_symmetric(plan, pattern, rails, options);
      break;
    case Forwarding::kOwnNic:
      build_own_nic(plan, pattern, rails, options);
      break;
    case Forwarding::kBalanced: {
      FlowDemand demand(rails, alone);
      std::vector<Multicast> multicasts =
          sort_flows(pattern, rails, options, [&](const PairFlow& flow) { demand.add(flow); });
      build_balanced(plan, demand, std::move(multicasts), rails, options, alone);
      break;
    }
  }
  if (node && !alone) keep_node(plan, topology, *node);
  return plan;
}

}  // namespace

Plan compile(const Pattern& pattern, const Topology& topology, const CompileOptions& options) {
  return compile_part(pattern, topology, options, std::nullopt);
}

Plan compile_for_node(const Pattern& pattern, const Topology& topology,
                      const CompileOptions& options, NodeId node) {
  HOCCL_CHECK(node.value() >= 0 && node.value() < topology.node_count(), "node {} of {}", node,
              topology.node_count());
  return compile_part(pattern, topology, options, node);
}

}  // namespace hoccl::engine
