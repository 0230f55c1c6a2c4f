#include "engine/schedule/own_nic.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "engine/base/config_error.h"
#include "engine/schedule/demand.h"
#include "engine/schedule/multicast.h"
#include "engine/schedule/multicast_legs.h"
#include "engine/schedule/self_copy.h"
#include "engine/schedule/sort_flows.h"
#include "engine/schedule/stages.h"

namespace hoccl::engine {
namespace {

void require_own_nic(const Topology& topology, Rank rank) {
  const GpuId gpu = topology.gpu_of(rank);
  if (!topology.nics_of(gpu).empty()) return;
  throw ConfigError(fmt::format(
      "topology '{}': node {} has {} GPU(s) and {} NIC(s): expected a NIC next to GPU {}, that of "
      "rank {}, because with forwarding own-nic it reads and writes that GPU's memory",
      topology.name(), topology.node_of(rank), topology.gpus_of(topology.node_of(rank)).size(),
      topology.nics_of(topology.node_of(rank)).size(), gpu, rank));
}

void require_possible(const Topology& topology, const CompileOptions& options) {
  // Its crossings wait for each other, which contention-free stages know nothing of.
  if (options.algorithm == Algorithm::kRing && options.order != Order::kLocal) {
    throw ConfigError(
        fmt::format("order = {}: expected local with algorithm ring and forwarding "
                    "own-nic",
                    to_string(options.order)));
  }
  if (topology.wire() == WireKind::kMap) {
    throw ConfigError(fmt::format(
        "topology '{}': wire = map: expected nic with forwarding own-nic, because a map wire moves "
        "no bytes between user buffers",
        topology.name()));
  }
}

/// The target of a node that the bytes cross to: other ones for other sources, so that all of them
/// share the work.
Rank entry_of(const RailMap& rails, Rank source, const NodeTargets& targets) {
  const auto counterpart = std::ranges::find(targets.ranks, rails.index_of(source),
                                             [&](Rank rank) { return rails.index_of(rank); });
  if (counterpart != targets.ranks.end()) return *counterpart;
  const auto place = static_cast<std::size_t>(rails.topology().local_index(source));
  return targets.ranks[place % targets.ranks.size()];
}

/// Numbers transfers by their place until their stages are known. Whatever comes after another
/// stands behind it, before the next that comes after none.
class OwnNic {
 public:
  OwnNic(Plan& plan, const RailMap& rails, const CompileOptions& options)
      : transfers_(plan.transfers), rails_(rails), options_(options) {}

  void add(const PairFlow& flow);
  void add(const Multicast& multicast);

 private:
  void add_local(const Multicast& multicast);
  /// Crosses from the source to the first node and from each to the next, every time between the
  /// ranks that stand where the source does.
  void add_chain(const Multicast& multicast, std::span<const NodeTargets> nodes);
  /// What has come to the entry goes on to the other targets of its node.
  void fan_out(const MulticastLegs& legs, const NodeTargets& targets, Rank entry, FlowId crossing);
  /// The pieces of one flow to another node.
  [[nodiscard]] std::vector<Transfer> registered(Transfer whole) const;
  void push(Transfer transfer) {
    transfer.id = next_id();
    transfers_.push_back(std::move(transfer));
  }
  [[nodiscard]] FlowId next_id() const {
    if (transfers_.size() < std::numeric_limits<FlowId::value_type>::max()) {
      return FlowId(transfers_.size());
    }
    throw ConfigError(
        fmt::format("pattern needs more transfers than there are ids: expected at "
                    "most {}",
                    std::numeric_limits<FlowId::value_type>::max()));
  }

  std::vector<Transfer>& transfers_;
  const RailMap& rails_;
  const CompileOptions& options_;
};

std::vector<Transfer> OwnNic::registered(Transfer whole) const {
  whole.route = Route::kRegistered;
  const std::vector<NicPair> pairs =
      own_nic_pairs(rails_.topology(), whole.source, whole.target, options_.rails);
  std::vector<Transfer> pieces;
  stripe(whole, pairs, options_.chunk_size, pieces);
  return pieces;
}

void OwnNic::add(const PairFlow& flow) {
  if (flow.source == flow.target) {
    push(self_copy(rails_, flow));
  } else if (rails_.node_of(flow.source) == rails_.node_of(flow.target)) {
    push(transfer_of(flow));
  } else {
    for (Transfer& piece : registered(transfer_of(flow))) push(std::move(piece));
  }
}

void OwnNic::add(const Multicast& multicast) {
  if (!multicast.local.empty()) add_local(multicast);
  if (multicast.remote.empty()) return;
  // A ring from node to node; else from the source to each.
  const std::span<const NodeTargets> remote = multicast.remote;
  if (options_.algorithm == Algorithm::kRing) return add_chain(multicast, remote);
  for (std::size_t i = 0; i < remote.size(); ++i) add_chain(multicast, remote.subspan(i, 1));
}

void OwnNic::add_local(const Multicast& multicast) {
  const MulticastLegs legs(rails_, multicast, Bytes(0), multicast.size);
  const Rank first = multicast.local.front();
  const FlowId to_first = next_id();
  push(legs.direct(to_first, first));
  if (multicast.give_back) {
    push(legs.passed_on(next_id(), first, multicast.source, to_first));
  }
  for (std::size_t i = 1; i < multicast.local.size(); ++i) {
    push(legs.direct(next_id(), multicast.local[i]));
  }
}

void OwnNic::fan_out(const MulticastLegs& legs, const NodeTargets& targets, Rank entry,
                     FlowId crossing) {
  const auto at = std::ranges::find(targets.ranks, entry) - targets.ranks.begin();
  // Beginning after the entry, so that not all of them push to the same one first.
  for (std::size_t step = 1; step < targets.ranks.size(); ++step) {
    const std::size_t place = (static_cast<std::size_t>(at) + step) % targets.ranks.size();
    push(legs.passed_on(next_id(), entry, targets.ranks[place], crossing));
  }
}

void OwnNic::add_chain(const Multicast& multicast, std::span<const NodeTargets> nodes) {
  const MulticastLegs whole(rails_, multicast, Bytes(0), multicast.size);
  const Rank first = entry_of(rails_, multicast.source, nodes.front());
  const std::vector<Transfer> pieces = registered(whole.direct(FlowId::none(), first));
  for (std::size_t number = 0; number < pieces.size(); ++number) {
    const Bytes offset = pieces[number].target_offset - multicast.target_offset;
    const MulticastLegs legs(rails_, multicast, offset, pieces[number].size);
    Transfer crossing = pieces[number];
    for (std::size_t at = 0; at < nodes.size(); ++at) {
      if (at > 0) {
        const Rank holder = crossing.target;
        const Rank entry = entry_of(rails_, multicast.source, nodes[at]);
        const std::vector<NicPair> pairs =
            own_nic_pairs(rails_.topology(), holder, entry, options_.rails);
        crossing = legs.passed_on(FlowId::none(), holder, entry, crossing.id);
        crossing.route = Route::kRegistered;
        crossing.send_nic = pairs[number % pairs.size()].send;
        crossing.receive_nic = pairs[number % pairs.size()].receive;
      }
      crossing.id = next_id();
      push(crossing);
      fan_out(legs, nodes[at], crossing.target, crossing.id);
    }
  }
}

/// Ids in the order of the stages, which is easier to read; what comes after a transfer right
/// behind it.
void number_by_stage(Plan& plan) {
  std::vector<std::int32_t> stages;
  for (const Transfer& transfer : plan.transfers) {
    const Transfer& first =
        transfer.after.is_none() ? transfer : plan.transfers[transfer.after.index()];
    stages.push_back(first_stage(plan, first));
  }
  std::vector<std::size_t> order(plan.transfers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return stages[i]; });
  std::vector<FlowId> numbers(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) numbers[order[i]] = FlowId(i);
  std::vector<Transfer> sorted;
  sorted.reserve(order.size());
  for (const std::size_t i : order) {
    Transfer& transfer = sorted.emplace_back(std::move(plan.transfers[i]));
    transfer.id = numbers[i];
    if (!transfer.after.is_none()) transfer.after = numbers[transfer.after.index()];
  }
  plan.transfers = std::move(sorted);
}

}  // namespace

std::vector<NicPair> own_nic_pairs(const Topology& topology, Rank source, Rank target, int rails) {
  require_own_nic(topology, source);
  require_own_nic(topology, target);
  const auto sending = topology.nics_of(topology.gpu_of(source));
  const auto receiving = topology.nics_of(topology.gpu_of(target));
  const std::size_t most = std::min(sending.size(), receiving.size());
  const std::size_t count = rails == 0 ? most : static_cast<std::size_t>(rails);
  if (count > most) {
    throw ConfigError(fmt::format("rails = {}: expected 1 to {} from rank {} to rank {} on '{}'",
                                  rails, most, source, target, topology.name()));
  }
  const std::size_t begin = (source.index() + target.index()) * count;
  std::vector<NicPair> pairs;
  for (std::size_t i = begin; i < begin + count; ++i) {
    pairs.push_back({sending[i % sending.size()], receiving[i % receiving.size()]});
  }
  return pairs;
}

void build_own_nic(Plan& plan, const Pattern& pattern, const RailMap& rails,
                   const CompileOptions& options) {
  const Topology& topology = rails.topology();
  require_possible(topology, options);
  OwnNic transfers(plan, rails, options);
  const std::vector<Multicast> multicasts =
      sort_flows(pattern, rails, options, [&](const PairFlow& flow) { transfers.add(flow); });
  for (const Multicast& multicast : multicasts) transfers.add(multicast);
  // No transfer between nodes waits for another, but round a ring, which has no stages.
  constexpr std::int64_t kRounds = 1;
  assign_nic_stages(plan, nic_stages(plan.transfers, topology.nic_count(), options, kRounds));
  number_by_stage(plan);
}

}  // namespace hoccl::engine
