#include "engine/schedule/plan_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/config_error.h"
#include "engine/schedule/multicast_trees.h"
#include "engine/schedule/rail_limits.h"
#include "engine/schedule/ring_chain.h"
#include "engine/schedule/stages.h"
#include "engine/schedule/tile_forwarding.h"

namespace hoccl::engine {
namespace {

/// First id of every tile, node by node, and the end. The same whatever detail there is.
std::vector<std::int64_t> first_ids(const Demand& demand, const TileForwarding& forwarding) {
  std::vector<std::int64_t> ids = {0};
  for (int a = 0; a < demand.node_count(); ++a) {
    for (int b = 0; b < demand.node_count(); ++b) {
      const NodeId source(a);
      const NodeId target(b);
      ids.push_back(ids.back() +
                    forwarding.id_count(source, target, demand.flow_count(source, target)));
    }
  }
  return ids;
}

void require_ids(std::int64_t count) {
  if (count <= std::numeric_limits<FlowId::value_type>::max()) return;
  throw ConfigError(fmt::format("pattern needs ids for {} transfers: expected at most {}", count,
                                std::numeric_limits<FlowId::value_type>::max()));
}

/// Stages take rails for equally loaded; without them, a rail may carry less.
RailLimits limits_of(const Demand& demand, const RailMap& rails, const CompileOptions& options) {
  const bool relays = rails.topology().staging() == StagingKind::kPeer;
  if (options.order != Order::kLocal || !rails.nodes_are_ports() || !relays) return {};
  return {demand, rails};
}

void append_tiles(Plan& plan, Demand& demand, TileForwarding& forwarding,
                  const std::vector<std::int64_t>& ids, std::optional<NodeId> node) {
  const int nodes = demand.node_count();
  std::size_t tile = 0;
  for (int a = 0; a < nodes; ++a) {
    for (int b = 0; b < nodes; ++b, ++tile) {
      const NodeId source(a);
      const NodeId target(b);
      if (node && source != *node && target != *node) continue;
      forwarding.append(source, target, demand.flows_of(source, target), FlowId(ids[tile]),
                        plan.transfers);
    }
  }
}

/// Returns how many stages there are.
std::int32_t assign_stages(Plan& plan, const Demand& demand, const MulticastTrees& trees,
                           const RailMap& rails, const CompileOptions& options, StageMemo* memo) {
  const Topology& topology = rails.topology();
  if (!rails.nodes_are_ports()) {
    const StageTable table =
        nic_stages(plan.transfers, topology.nic_count(), options, trees.rounds());
    assign_nic_stages(plan, table);
    return table.stage_count();
  }
  if (trees.rounds() == 1 && trees.id_count() == 0) {
    const auto table = node_stages(demand.bytes(), topology.rail_count(), options, memo);
    assign_node_stages(plan, *table, topology, {});
    return table->stage_count();
  }
  PortMatrix bytes = demand.bytes();
  trees.add_demand(bytes);
  const StageTable table =
      node_stages_in_rounds(bytes, topology.rail_count(), options, trees.rounds());
  assign_node_stages(plan, table, topology, trees.late());
  return table.stage_count();
}

}  // namespace

void build_balanced(Plan& plan, Demand& demand, std::vector<Multicast> multicasts,
                    const RailMap& rails, const CompileOptions& options, std::optional<NodeId> node,
                    StageMemo* memo) {
  HOCCL_CHECK(!node || rails.nodes_are_ports(), "part of a plan whose ports are NICs");
  const bool as_rings = options.algorithm == Algorithm::kRing;
  const RingChain rings(rails, options, as_rings ? multicasts : std::vector<Multicast>());
  MulticastTrees trees(rails, options, as_rings ? std::vector<Multicast>() : std::move(multicasts));
  TileForwarding forwarding(rails, options, limits_of(demand, rails, options));
  const std::vector<std::int64_t> ids = first_ids(demand, forwarding);
  require_ids(ids.back() + trees.id_count());

  std::size_t flows = 0;
  for (int i = 0; node && i < demand.node_count(); ++i) {
    flows += static_cast<std::size_t>(demand.flow_count(*node, NodeId(i)) +
                                      demand.flow_count(NodeId(i), *node));
  }
  plan.transfers.reserve(flows + flows / 4);
  append_tiles(plan, demand, forwarding, ids, node);
  trees.append(ids.back(), node, plan.transfers);
  const std::int32_t stages = assign_stages(plan, demand, trees, rails, options, memo);
  if (rings.empty()) return;
  HOCCL_CHECK(!node, "part of a plan of rings");
  rings.append(ids.back(), stages, plan.transfers);
  require_ids(ids.back() + static_cast<std::int64_t>(plan.transfers.size()));
}

void keep_node(Plan& plan, const Topology& topology, NodeId node) {
  std::erase_if(plan.transfers, [&](const Transfer& transfer) {
    return topology.node_of(transfer.source) != node &&
           std::ranges::none_of(targets_of(transfer),
                                [&](Rank rank) { return topology.node_of(rank) == node; });
  });
}

void require_in_range(const CompileOptions& options) {
  if (options.chunk_size < Bytes(1) || options.chunk_size > kMaxChunkSize) {
    throw ConfigError(fmt::format("chunk = {}: expected 1B to {}", to_string(options.chunk_size),
                                  to_string(kMaxChunkSize)));
  }
  if (options.rails < 0) {
    throw ConfigError(fmt::format("rails = {}: expected 1 or more", options.rails));
  }
  if (options.nics < 1) {
    throw ConfigError(fmt::format("nics = {}: expected 1 or more", options.nics));
  }
  if (!(options.quantise >= 0.0 && options.quantise <= 1.0)) {
    throw ConfigError(fmt::format("quantise = {}: expected 0 to 1", options.quantise));
  }
  const int most = 1 + static_cast<int>(kMaxBranches);
  if (options.nodes_per_stage_in < 1 || options.nodes_per_stage_in > most) {
    throw ConfigError(
        fmt::format("nodes_per_stage_in = {}: expected 1 to {}", options.nodes_per_stage_in, most));
  }
}

void require_chunks(Bytes size, Bytes chunk_size) {
  // Their product fits, and a division per flow would be felt.
  static_assert(kMaxChunkSize.count() <= INT64_MAX / kMaxChunksPerTransfer);
  if (size <= kMaxChunksPerTransfer * chunk_size) return;
  throw ConfigError(fmt::format("chunk = {}: expected at most {} chunks in {}",
                                to_string(chunk_size), kMaxChunksPerTransfer, to_string(size)));
}

}  // namespace hoccl::engine
