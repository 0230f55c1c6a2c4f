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

PairFlow to_one(const Flow& flow, Rank target) {
  return {flow.source, target, flow.source_offset, flow.target_offset, flow.size, flow.flow_class};
}

/// Flows to several ranks that are carried as such. Those that a rank's own share can be passed
/// back from are marked, and the shares' numbers in the pattern added to `given_back`, ascending.
std::vector<Multicast> multicasts_of(const Pattern& pattern, const RailMap& rails,
                                     std::vector<std::size_t>& given_back) {
  std::vector<Multicast> multicasts;
  std::map<Rank, std::vector<std::size_t>> by_source;
  for (const Flow& flow : pattern.flows) {
    if (flow.more_targets.empty() || flow.size == Bytes(0)) continue;
    by_source[flow.source].push_back(multicasts.size());
    multicasts.push_back(multicast_of(flow, rails));
  }
  if (multicasts.empty()) return multicasts;
  for (std::size_t number = 0; number < pattern.flows.size(); ++number) {
    const Flow& flow = pattern.flows[number];
    if (flow.source != flow.target || flow.size == Bytes(0)) continue;
    for (const std::size_t i : by_source[flow.source]) {
      Multicast& multicast = multicasts[i];
      if (multicast.local.empty() || !is_own_share_of(flow, multicast)) continue;
      if (std::exchange(multicast.give_back, true)) continue;
      given_back.push_back(number);
      break;
    }
  }
  return multicasts;
}

/// Calls add(PairFlow) for what goes to single ranks, and returns the rest.
template <class Add>
std::vector<Multicast> sort_out(const Pattern& pattern, const RailMap& rails,
                                const CompileOptions& options, Add add) {
  const bool expand = options.algorithm == Algorithm::kP2p;
  std::vector<std::size_t> given_back;
  std::vector<Multicast> multicasts;
  if (!expand) multicasts = multicasts_of(pattern, rails, given_back);
  auto skipped = given_back.begin();
  for (std::size_t number = 0; number < pattern.flows.size(); ++number) {
    const Flow& flow = pattern.flows[number];
    if (flow.size == Bytes(0)) continue;
    if (skipped != given_back.end() && *skipped == number) {
      ++skipped;
    } else if (flow.more_targets.empty()) {
      add(to_one(flow, flow.target));
    } else if (expand) {
      for (const Rank target : targets_of(flow)) add(to_one(flow, target));
    }
  }
  return multicasts;
}

/// The stage that a transfer is in first.
std::int32_t first_stage(const Plan& plan, const Transfer& transfer) {
  if (transfer.stage_list < 0) return transfer.stage;
  return plan.stage_lists[static_cast<std::size_t>(transfer.stage_list)].marks.front().stage;
}

/// Every flow on its own, over the paper's pairs of NICs.
void build_symmetric(Plan& plan, const Pattern& pattern, const RailMap& rails,
                     const CompileOptions& options) {
  std::vector<Multicast> multicasts = sort_out(pattern, rails, options, [&](const PairFlow& flow) {
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
    Transfer& transfer = plan.transfers.emplace_back();
    transfer.source = flow.source;
    transfer.target = flow.target;
    transfer.source_offset = flow.source_offset;
    transfer.target_offset = flow.target_offset;
    transfer.size = flow.size;
    transfer.flow_class = flow.flow_class;
    transfer.route = Route::kRelayed;
    transfer.via = self_copy_place(rails, flow.source);
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
    case Forwarding::kBalanced: {
      FlowDemand demand(rails, alone);
      std::vector<Multicast> multicasts =
          sort_out(pattern, rails, options, [&](const PairFlow& flow) { demand.add(flow); });
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
