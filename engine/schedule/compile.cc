#include "engine/schedule/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "engine/base/check.h"
#include "engine/base/config_error.h"
#include "engine/schedule/flow_demand.h"
#include "engine/schedule/multicast_trees.h"
#include "engine/schedule/plan_builder.h"
#include "engine/schedule/ring_chain.h"
#include "engine/schedule/self_copy.h"
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

/// A pattern's flows by how they are carried.
struct Flows {
  std::vector<Flow> single;  ///< to one rank each
  std::vector<Multicast> multicasts;
};

Flows sort_out(const Pattern& pattern, const RailMap& rails, const CompileOptions& options) {
  Flows flows;
  std::map<Rank, std::vector<std::size_t>> by_source;
  if (options.algorithm != Algorithm::kP2p) {
    for (const Flow& flow : pattern.flows) {
      if (flow.more_targets.empty() || flow.size == Bytes(0)) continue;
      by_source[flow.source].push_back(flows.multicasts.size());
      flows.multicasts.push_back(multicast_of(flow, rails));
    }
  }
  for (const Flow& flow : pattern.flows) {
    if (flow.size == Bytes(0)) continue;
    if (!flow.more_targets.empty()) {
      if (options.algorithm != Algorithm::kP2p) continue;
      for (const Rank target : targets_of(flow)) {
        flows.single.push_back(flow);
        flows.single.back().target = target;
        flows.single.back().more_targets.clear();
      }
      continue;
    }
    bool given_back = false;
    if (flow.source == flow.target && !flows.multicasts.empty()) {
      for (const std::size_t i : by_source[flow.source]) {
        Multicast& multicast = flows.multicasts[i];
        if (multicast.local.empty() || !is_own_share_of(flow, multicast)) continue;
        if (std::exchange(multicast.give_back, true)) continue;
        given_back = true;
        break;
      }
    }
    if (!given_back) flows.single.push_back(flow);
  }
  return flows;
}

/// The stage that a transfer is in first.
std::int32_t first_stage(const Plan& plan, const Transfer& transfer) {
  if (transfer.stage_list < 0) return transfer.stage;
  return plan.stage_lists[static_cast<std::size_t>(transfer.stage_list)].marks.front().stage;
}

/// Every flow on its own, over the paper's pairs of NICs.
void build_symmetric(Plan& plan, Flows flows, const RailMap& rails,
                     const CompileOptions& options) {
  for (const Flow& flow : flows.single) {
    if (flow.source != flow.target) {
      forward(flow, rails.topology(), options.chunk_size, std::max(options.rails, 1),
              plan.transfers);
      continue;
    }
    Transfer transfer{.source = flow.source,
                      .target = flow.target,
                      .source_offset = flow.source_offset,
                      .target_offset = flow.target_offset,
                      .size = flow.size,
                      .flow_class = flow.flow_class,
                      .route = Route::kRelayed,
                      .send_nic = NicId::none(),
                      .receive_nic = NicId::none(),
                      .via = self_copy_place(rails, flow.source)};
    plan.transfers.push_back(std::move(transfer));
  }
  const bool as_rings = options.algorithm == Algorithm::kRing;
  const RingChain rings(rails, options, as_rings ? flows.multicasts : std::vector<Multicast>());
  std::int64_t rounds = 1;
  if (!as_rings) {
    MulticastTrees trees(rails, options, std::move(flows.multicasts));
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
  Flows flows = sort_out(pattern, rails, options);
  // Where NICs are the ports, or rings number their hops, a part cannot be had without the whole.
  const bool part_alone = options.forwarding == Forwarding::kBalanced && rails.nodes_are_ports() &&
                          options.algorithm != Algorithm::kRing;
  const std::optional<NodeId> alone = part_alone ? node : std::nullopt;
  switch (options.forwarding) {
    case Forwarding::kSymmetric:
      build_symmetric(plan, std::move(flows), rails, options);
      break;
    case Forwarding::kBalanced: {
      std::vector<PairFlow> pairs;
      pairs.reserve(flows.single.size());
      for (const Flow& flow : flows.single) {
        pairs.push_back({flow.source, flow.target, flow.source_offset, flow.target_offset,
                         flow.size, flow.flow_class});
      }
      FlowDemand demand(std::move(pairs), topology, alone);
      build_balanced(plan, demand, std::move(flows.multicasts), rails, options, alone);
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
