#include "engine/schedule/tile_forwarding.h"

#include <fmt/format.h>

#include "engine/base/config_error.h"
#include "engine/schedule/forwarding.h"
#include "engine/schedule/self_copy.h"

namespace hoccl::engine {
void TileForwarding::append_local(std::span<const PairFlow> flows, FlowId first,
                                  std::vector<Transfer>& transfers) const {
  FlowId::value_type id = first.value();
  for (const PairFlow& flow : flows) {
    Transfer& transfer = transfers.emplace_back(transfer_of(flow));
    transfer.id = FlowId(id++);
    if (flow.source != flow.target) continue;
    transfer.route = Route::kRelayed;
    transfer.via = self_copy_place(rails_, flow.source);
  }
}

void TileForwarding::gather(NodeId source, NodeId target, std::span<const PairFlow> flows) {
  const int count = rails_.pair_count(source, target);
  const int step = preferred_step(count, source.value() + target.value());
  const bool host = rails_.topology().staging() == StagingKind::kHost;
  const bool certain = rails_.nodes_are_ports() && options_.rails == 0;
  demands_.clear();
  for (const PairFlow& flow : flows) {
    const int from = rails_.index_of(flow.source);
    // A slot in host memory is as near to the flow's own GPU as to any.
    const int preferred =
        host ? from % count : preferred_rail(from, rails_.index_of(flow.target), count, step);
    demands_.push_back({.size = flow.size,
                        .source_gpu = rails_.gpu_of(flow.source),
                        .target_gpu = rails_.gpu_of(flow.target),
                        .preferred = preferred});
    if (!certain) require_path(source, target, flow, demands_.back());
  }
}

void TileForwarding::require_path(NodeId source, NodeId target, const PairFlow& flow,
                                  const RailDemand& demand) const {
  const int usable = spread_.usable_pairs(source, target, demand);
  // Throws, naming the end that has no NIC.
  if (usable == 0) candidate_pairs(rails_.topology(), flow.source, flow.target);
  if (options_.rails <= usable) return;
  throw ConfigError(fmt::format("rails = {}: expected 1 to {} from rank {} to rank {} on '{}'",
                                options_.rails, usable, flow.source, flow.target,
                                rails_.topology().name()));
}

void TileForwarding::append(NodeId source, NodeId target, std::span<const PairFlow> flows,
                            FlowId first, std::vector<Transfer>& transfers) {
  if (flows.empty()) return;
  if (source == target) return append_local(flows, first, transfers);
  gather(source, target, flows);
  FlowId::value_type id = first.value();
  for (const RailSpread::Piece& piece :
       spread_.spread(source, target, demands_, limits_.already_carried(source, target))) {
    Transfer& transfer = transfers.emplace_back(transfer_of(flows[piece.demand]));
    transfer.id = FlowId(id++);
    transfer.route = Route::kStaged;
    transfer.source_offset += piece.offset;
    transfer.target_offset += piece.offset;
    transfer.size = piece.size;
    transfer.send_nic = piece.pair.send;
    transfer.receive_nic = piece.pair.receive;
  }
}

}  // namespace hoccl::engine
