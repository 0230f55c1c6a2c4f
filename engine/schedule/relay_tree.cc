#include "engine/schedule/relay_tree.h"

#include <algorithm>
#include <utility>

#include "engine/base/check.h"
#include "engine/schedule/rail_spread.h"

namespace hoccl::engine {

class RelayTree::Output {
 public:
  Output(const RailMap& rails, std::int64_t first, std::optional<NodeId> node,
         std::vector<Transfer>& transfers, std::vector<FlowId>& late)
      : rails_(rails), next_(first), node_(node), transfers_(transfers), late_(late) {}

  /// The same number on every node, whether it keeps the transfer or not.
  FlowId take_id() { return FlowId(next_++); }

  void add(Transfer transfer) {
    if (!node_ || touches(transfer)) transfers_.push_back(std::move(transfer));
  }
  /// That it waits for another between nodes.
  void add_late(FlowId id) { late_.push_back(id); }

 private:
  [[nodiscard]] bool touches(const Transfer& transfer) const {
    if (rails_.node_of(transfer.source) == *node_) return true;
    return std::ranges::any_of(targets_of(transfer),
                               [&](Rank rank) { return rails_.node_of(rank) == *node_; });
  }

  const RailMap& rails_;
  std::int64_t next_;
  std::optional<NodeId> node_;
  std::vector<Transfer>& transfers_;
  std::vector<FlowId>& late_;
};

RelayTree::RelayTree(const RailMap& rails, const CompileOptions& options,
                     const Multicast& multicast, Shape shape)
    : rails_(rails), options_(options), shape_(shape) {
  const std::vector<Piece> parts = parts_of(multicast);
  if (multicast.remote.empty()) {
    pieces_ = parts;
    return;
  }
  // The parts of a hub are spread together, so that each hub gets as much over every rail.
  for (std::size_t begin = 0; begin < parts.size();) {
    std::size_t end = begin;
    while (end < parts.size() && parts[end].hub == parts[begin].hub) ++end;
    spread(multicast, std::span(parts).subspan(begin, end - begin));
    begin = end;
  }
}

/// Equal parts for all hubs, and within those for all local targets that exchange; whole chunks.
std::vector<RelayTree::Piece> RelayTree::parts_of(const Multicast& multicast) const {
  std::vector<Piece> parts;
  const std::size_t holders = shape_.exchange ? multicast.local.size() : 1;
  const std::size_t count = holders * std::max<std::size_t>(shape_.hubs, 1);
  const std::int64_t chunks = chunk_count(multicast.size, options_.chunk_size);
  Bytes done(0);
  for (std::size_t i = 0; i < count; ++i) {
    // Rounded at the end of each, so that no holder and no hub is always the one with more.
    const auto end = chunks * static_cast<std::int64_t>(i + 1) / static_cast<std::int64_t>(count);
    const Bytes until = std::min(end * options_.chunk_size, multicast.size);
    if (until > done) {
      parts.push_back({.holder = i % holders,
                       .hub = i / holders,
                       .rail = 0,
                       .offset = done,
                       .size = until - done});
    }
    done = until;
  }
  return parts;
}

void RelayTree::spread(const Multicast& multicast, std::span<const Piece> parts) {
  const NodeId next = multicast.remote[parts.front().hub].node;
  const int rails = rails_.pair_count(multicast.node, next);
  std::vector<RailDemand> demands;
  for (const Piece& part : parts) {
    const Rank holder = shape_.exchange ? multicast.local[part.holder] : multicast.source;
    const int index = rails_.index_of(holder);
    demands.push_back({.size = part.size,
                       .source_gpu = rails_.gpu_of(holder),
                       .target_gpu = kNoGpu,
                       .preferred = preferred_rail(index, index, rails, preferred_step(rails, 0))});
  }
  RailSpread spread(rails_, options_.chunk_size, options_.rails);
  for (const RailSpread::Piece& piece : spread.spread(multicast.node, next, demands)) {
    const Piece& part = parts[piece.demand];
    pieces_.push_back({.holder = part.holder,
                       .hub = part.hub,
                       .rail = piece.index,
                       .offset = part.offset + piece.offset,
                       .size = piece.size});
  }
}

bool RelayTree::needs_rounds(const Multicast& multicast) const {
  return shape_.hubs > 0 || (group_size() > 1 && multicast.remote.size() > 1);
}

void RelayTree::add_demand(const Multicast& multicast, PortMatrix& bytes) const {
  for (const Piece& piece : pieces_) {
    const NodeId hub = multicast.remote.empty() ? NodeId::none() : multicast.remote[piece.hub].node;
    for (const NodeTargets& targets : multicast.remote) {
      const bool direct = shape_.hubs == 0 || targets.node == hub;
      const NodeId from = direct ? multicast.node : hub;
      bytes(from.value(), targets.node.value()) += piece.size.count();
    }
  }
}

std::int64_t RelayTree::id_count(const Multicast& multicast) const {
  const auto local = static_cast<std::int64_t>(multicast.local.size());
  const auto remote = static_cast<std::int64_t>(multicast.remote.size());
  const auto pieces = static_cast<std::int64_t>(pieces_.size());
  // To every local target and back to the source; per node staged and to the stager.
  return (local + 1) * (shape_.exchange ? pieces : 1) + pieces * 2 * remote;
}

void RelayTree::append(const Multicast& multicast, std::int64_t first, std::optional<NodeId> node,
                       std::vector<Transfer>& transfers, std::vector<FlowId>& late) const {
  Output output(rails_, first, node, transfers, late);
  if (!shape_.exchange) append_local(multicast, output);
  for (const Piece& piece : pieces_) {
    const MulticastLegs legs(rails_, multicast, piece.offset, piece.size);
    const Origin origin = shape_.exchange ? append_exchange(multicast, legs, piece, output)
                                          : Origin{.rank = multicast.source};
    append_remote(multicast, legs, piece, origin, output);
  }
}

void RelayTree::append_local(const Multicast& multicast, Output& output) const {
  const MulticastLegs legs(rails_, multicast, Bytes(0), multicast.size);
  FlowId to_first = FlowId::none();
  for (const Rank target : multicast.local) {
    const FlowId id = output.take_id();
    if (to_first.is_none()) to_first = id;
    output.add(legs.direct(id, target));
  }
  if (!multicast.give_back) return;
  output.add(legs.passed_on(output.take_id(), multicast.local.front(), multicast.source, to_first));
}

RelayTree::Origin RelayTree::append_exchange(const Multicast& multicast, const MulticastLegs& legs,
                                             const Piece& piece, Output& output) const {
  const Origin origin{.rank = multicast.local[piece.holder], .after = output.take_id()};
  output.add(legs.direct(origin.after, origin.rank));
  for (std::size_t step = 1; step < multicast.local.size(); ++step) {
    const Rank other = multicast.local[(piece.holder + step) % multicast.local.size()];
    output.add(legs.passed_on(output.take_id(), origin.rank, other, origin.after));
  }
  if (multicast.give_back) {
    output.add(legs.passed_on(output.take_id(), origin.rank, multicast.source, origin.after));
  }
  return origin;
}

/// One stage-in on `from` for these nodes, and on each what is left to a peer.
FlowId RelayTree::append_staged(const MulticastLegs& legs, Origin origin, NodeId from, int rail,
                                std::span<const NodeTargets> nodes, Output& output) const {
  std::vector<NicPair> pairs;
  for (const NodeTargets& targets : nodes) {
    pairs.push_back(rails_.pair(from, targets.node, 0, rail));
  }
  const FlowId staged = output.take_id();
  output.add(legs.staged(staged, origin.rank, origin.after, nodes, pairs));
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const FanOut fan = fan_out(rails_, nodes[i], pairs[i].receive);
    const auto last =
        legs.to_host(output.take_id(), fan, staged, from.value() + nodes[i].node.value());
    if (last) output.add(*last);
  }
  return staged;
}

void RelayTree::append_remote(const Multicast& multicast, const MulticastLegs& legs,
                              const Piece& piece, Origin origin, Output& output) const {
  NodeId from = multicast.node;
  std::vector<NodeTargets> nodes = multicast.remote;
  if (shape_.hubs > 0) {
    // Each hub begins with the node after it.
    std::rotate(nodes.begin(), nodes.begin() + static_cast<std::ptrdiff_t>(piece.hub), nodes.end());
    const NodeTargets hub = nodes.front();
    nodes.erase(nodes.begin());
    const FlowId arrived =
        append_staged(legs, origin, from, piece.rail, std::span(&hub, 1), output);
    if (nodes.empty()) return;
    const FanOut fan = fan_out(rails_, hub, rails_.pair(from, hub.node, 0, piece.rail).receive);
    const NicId send = rails_.pair(hub.node, nodes.front().node, 0, piece.rail).send;
    origin = {.rank = next_holder(fan, send, piece.rail), .after = arrived};
    from = hub.node;
  }
  for (std::size_t begin = 0; begin < nodes.size(); begin += group_size()) {
    const std::size_t count = std::min(group_size(), nodes.size() - begin);
    const FlowId staged = append_staged(legs, origin, from, piece.rail,
                                        std::span(nodes).subspan(begin, count), output);
    if (shape_.hubs > 0) output.add_late(staged);
  }
}

/// One of those that pulled, other ones for other rails, whose GPU does not hold the send slots.
Rank RelayTree::next_holder(const FanOut& fan, NicId send_nic, int turn) const {
  const std::size_t count = fan.pulling.size();
  for (std::size_t step = 0; step < count; ++step) {
    const Rank rank = fan.pulling[(static_cast<std::size_t>(turn) + count / 2 + step) % count];
    if (rails_.slot_gpu(send_nic) != rails_.gpu_of(rank)) return rank;
    if (rails_.slot_gpu(send_nic) == kNoGpu) return rank;
  }
  HOCCL_CHECK(false, "nobody may stage for NIC {}", send_nic);
}

}  // namespace hoccl::engine
