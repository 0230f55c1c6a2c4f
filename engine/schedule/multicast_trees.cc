#include "engine/schedule/multicast_trees.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/config_error.h"
#include "engine/schedule/multicast_legs.h"
#include "engine/schedule/multicast_path.h"
#include "engine/schedule/relay_choice.h"

namespace hoccl::engine {
namespace {

/// Bounds what the rounds add to a plan.
constexpr std::int64_t kMostRounds = 64;

}  // namespace

MulticastTrees::MulticastTrees(const RailMap& rails, const CompileOptions& options,
                               std::vector<Multicast> multicasts)
    : rails_(rails),
      options_(options),
      multicasts_(std::move(multicasts)),
      relayed_(multicasts_.size()),
      most_parts_(rails.topology().rail_count()),
      spread_(rails, options.chunk_size, options.rails) {
  for (const Multicast& multicast : multicasts_) require_paths(multicast);
  if (options_.forwarding == Forwarding::kBalanced) choose_relaying();
  gather_families();
  for (std::size_t i = 0; i < multicasts_.size(); ++i) {
    first_ids_.push_back(id_count_);
    id_count_ += relayed_[i] ? relayed_[i]->id_count(multicasts_[i]) : ids_of(multicasts_[i]);
  }
}

void MulticastTrees::require_paths(const Multicast& multicast) const {
  for (const NodeTargets& targets : multicast.remote) {
    const Rank target = counterpart(rails_, multicast.source, targets);
    std::size_t usable = 0;
    switch (options_.forwarding) {
      case Forwarding::kSymmetric:
        usable = candidate_pairs(rails_.topology(), multicast.source, target).size();
        break;
      case Forwarding::kBalanced:
        if (rails_.nodes_are_ports() && options_.rails == 0) continue;
        usable = static_cast<std::size_t>(spread_.usable_pairs(
            multicast.node, targets.node, demand_of(rails_, multicast, targets, 0)));
        // Throws, naming the end that has no NIC.
        if (usable == 0) candidate_pairs(rails_.topology(), multicast.source, target);
        break;
      case Forwarding::kOwnNic:
        HOCCL_CHECK(false, "a tree of staged transfers for forwarding own-nic");
    }
    if (static_cast<std::size_t>(options_.rails) <= usable) continue;
    throw ConfigError(fmt::format("rails = {}: expected 1 to {} from rank {} to rank {} on '{}'",
                                  options_.rails, usable, multicast.source, target,
                                  rails_.topology().name()));
  }
}

bool MulticastTrees::may_share_stage_in(const Multicast& multicast,
                                        const NodeTargets& targets) const {
  const Topology& topology = rails_.topology();
  switch (options_.forwarding) {
    case Forwarding::kSymmetric:
      return options_.rails <= 1;
    case Forwarding::kBalanced:
      if (targets.ranks.size() < 2 && topology.staging() == StagingKind::kPeer) return false;
      // Then the pairs of pairing 0 have the source's NICs in the same order for all such nodes.
      if (topology.nics_of(targets.node).size() < topology.nics_of(multicast.node).size()) {
        return false;
      }
      return spread_.first_pairing(multicast.node, targets.node,
                                   demand_of(rails_, multicast, targets, 0)) == 0;
    case Forwarding::kOwnNic:
      break;
  }
  HOCCL_CHECK(false, "forwarding {}", static_cast<int>(options_.forwarding));
}

std::vector<MulticastTrees::Group> MulticastTrees::groups_of(const Multicast& multicast) const {
  std::vector<Group> groups;
  bool open = false;
  for (std::size_t i = 0; i < multicast.remote.size(); ++i) {
    const bool shares = may_share_stage_in(multicast, multicast.remote[i]);
    const bool room =
        open && groups.back().size() < static_cast<std::size_t>(options_.nodes_per_stage_in);
    if (!shares || !room) groups.emplace_back();
    groups.back().push_back(i);
    open = shares;
  }
  return groups;
}

void MulticastTrees::choose_relaying() {
  const RelayChoice choice(rails_, options_, multicasts_);
  for (std::size_t i = 0; i < multicasts_.size(); ++i) {
    const Multicast& multicast = multicasts_[i];
    const bool one_path = std::ranges::all_of(multicast.remote, [&](const NodeTargets& targets) {
      return may_share_stage_in(multicast, targets);
    });
    if (!one_path || (!multicast.remote.empty() && !rails_.nodes_are_ports())) continue;
    const RelayTree::Shape shape{.exchange = choice.exchange(multicast),
                                 .hubs = choice.hubs(multicast)};
    if (shape.exchange || shape.hubs > 0) relayed_[i].emplace(rails_, options_, multicast, shape);
  }
}

void MulticastTrees::gather_families() {
  std::map<std::vector<std::int32_t>, std::size_t> known;
  for (std::size_t i = 0; i < multicasts_.size(); ++i) {
    if (relayed_[i] || multicasts_[i].remote.empty()) continue;
    const Multicast& multicast = multicasts_[i];
    std::vector<Group> groups = groups_of(multicast);
    // Symmetric paths do not depend on each other.
    const bool alone = options_.forwarding == Forwarding::kSymmetric;
    std::vector<std::int32_t> key = {alone ? static_cast<std::int32_t>(i) : -1,
                                     multicast.node.value()};
    for (const Group& group : groups) {
      for (const std::size_t place : group) key.push_back(multicast.remote[place].node.value());
      key.push_back(-1);
    }
    const auto [found, fresh] = known.try_emplace(std::move(key), families_.size());
    if (fresh) families_.push_back({.members = {}, .groups = std::move(groups)});
    families_[found->second].members.push_back(i);
  }
}

void MulticastTrees::add_demand(PortMatrix& bytes) const {
  for (std::size_t i = 0; i < multicasts_.size(); ++i) {
    const Multicast& multicast = multicasts_[i];
    if (relayed_[i]) {
      relayed_[i]->add_demand(multicast, bytes);
      continue;
    }
    for (const NodeTargets& targets : multicast.remote) {
      bytes(multicast.node.value(), targets.node.value()) += multicast.size.count();
    }
  }
}

std::int64_t MulticastTrees::rounds() const {
  std::int64_t rounds = 1;
  const auto count = [&](const Multicast& multicast) {
    rounds = std::max(rounds, chunk_count(multicast.size, options_.chunk_size));
  };
  for (const Family& family : families_) {
    const bool shared =
        std::ranges::any_of(family.groups, [](const Group& group) { return group.size() > 1; });
    for (const std::size_t member : family.members) {
      if (shared) count(multicasts_[member]);
    }
  }
  for (std::size_t i = 0; i < multicasts_.size(); ++i) {
    if (relayed_[i] && relayed_[i]->needs_rounds(multicasts_[i])) count(multicasts_[i]);
  }
  return std::min(rounds, kMostRounds);
}

std::int64_t MulticastTrees::id_count() const { return id_count_; }

/// Local targets, the way back, then per node and part what is staged, then what is passed on.
std::int64_t MulticastTrees::ids_of(const Multicast& multicast) const {
  return static_cast<std::int64_t>(multicast.local.size()) + 1 +
         2 * static_cast<std::int64_t>(multicast.remote.size()) * most_parts_;
}

void MulticastTrees::append(std::int64_t first, std::optional<NodeId> node,
                            std::vector<Transfer>& transfers) {
  const std::size_t begin = transfers.size();
  for (std::int64_t& id : first_ids_) id += first;
  for (std::size_t i = 0; i < multicasts_.size(); ++i) {
    if (relayed_[i]) {
      relayed_[i]->append(multicasts_[i], first_ids_[i], node, transfers, late_);
    } else {
      append_local(i, node, transfers);
    }
  }
  for (const Family& family : families_) {
    for (const Group& group : family.groups) append_group(family, group, node, transfers);
  }
  for (std::int64_t& id : first_ids_) id -= first;
  std::ranges::sort(transfers.begin() + static_cast<std::ptrdiff_t>(begin), transfers.end(), {},
                    &Transfer::id);
}

void MulticastTrees::append_local(std::size_t index, std::optional<NodeId> node,
                                  std::vector<Transfer>& transfers) const {
  const Multicast& multicast = multicasts_[index];
  if (node && *node != multicast.node) return;
  const MulticastLegs legs(rails_, multicast, Bytes(0), multicast.size);
  std::int64_t id = first_ids_[index];
  for (const Rank target : multicast.local) transfers.push_back(legs.direct(FlowId(id++), target));
  if (multicast.give_back) {
    // Local targets begin after the source, so every rank of an AllGather gives one share back.
    transfers.push_back(legs.passed_on(FlowId(id), multicast.local.front(), multicast.source,
                                       FlowId(first_ids_[index])));
  }
}

std::vector<MulticastTrees::Part> MulticastTrees::balanced_parts(const Family& family,
                                                                 const Group& group) {
  const Multicast& first = multicasts_[family.members.front()];
  const NodeTargets& next = first.remote[group.front()];
  std::vector<RailDemand> demands;
  const int turn = first.node.value() + next.node.value();
  for (const std::size_t member : family.members) {
    const Multicast& multicast = multicasts_[member];
    demands.push_back(demand_of(rails_, multicast, multicast.remote[group.front()], turn));
  }
  std::vector<Part> parts;
  for (const RailSpread::Piece& piece : spread_.spread(first.node, next.node, demands)) {
    Part part{.member = family.members[piece.demand],
              .offset = piece.offset,
              .size = piece.size,
              .pairs = {}};
    for (const std::size_t place : group) {
      part.pairs.push_back(
          rails_.pair(first.node, first.remote[place].node, piece.pairing, piece.index));
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

std::vector<MulticastTrees::Part> MulticastTrees::symmetric_parts(const Family& family,
                                                                  const Group& group) const {
  const std::size_t member = family.members.front();
  const Multicast& multicast = multicasts_[member];
  const std::int64_t chunks = chunk_count(multicast.size, options_.chunk_size);
  const std::int64_t count = std::min<std::int64_t>(std::max(options_.rails, 1), chunks);
  std::vector<Part> parts;
  Bytes done(0);
  for (std::int64_t i = 0; i < count; ++i) {
    // As in forward(): the last parts get the odd chunks.
    const std::int64_t share = chunks / count + (i >= count - chunks % count ? 1 : 0);
    Part part{.member = member,
              .offset = done,
              .size = std::min(share * options_.chunk_size, multicast.size - done),
              .pairs = {}};
    for (const std::size_t place : group) {
      const Rank target = counterpart(rails_, multicast.source, multicast.remote[place]);
      const auto pairs = candidate_pairs(rails_.topology(), multicast.source, target);
      part.pairs.push_back(pairs[static_cast<std::size_t>(i)]);
    }
    done += part.size;
    parts.push_back(std::move(part));
  }
  return parts;
}

void MulticastTrees::append_group(const Family& family, const Group& group,
                                  std::optional<NodeId> node, std::vector<Transfer>& transfers) {
  const Multicast& any = multicasts_[family.members.front()];
  const bool source_here = !node || any.node == *node;
  const auto is_here = [&](std::size_t place) { return !node || any.remote[place].node == *node; };
  if (!source_here && std::ranges::none_of(group, is_here)) return;

  const std::vector<Part> parts = options_.forwarding == Forwarding::kSymmetric
                                      ? symmetric_parts(family, group)
                                      : balanced_parts(family, group);
  std::map<std::size_t, std::int64_t> parts_before;  // by member
  for (const Part& part : parts) {
    const Multicast& multicast = multicasts_[part.member];
    const MulticastLegs legs(rails_, multicast, part.offset, part.size);
    const auto slot = [&](std::size_t place) {
      return static_cast<std::int64_t>(place) * most_parts_;
    };
    const std::int64_t base = first_ids_[part.member] +
                              static_cast<std::int64_t>(multicast.local.size()) + 1 +
                              parts_before[part.member]++;
    const FlowId staged(base + slot(group.front()));
    std::vector<NodeTargets> nodes;
    for (const std::size_t place : group) nodes.push_back(multicast.remote[place]);
    transfers.push_back(legs.staged(staged, multicast.source, FlowId::none(), nodes, part.pairs));
    for (std::size_t i = 0; i < group.size(); ++i) {
      if (!is_here(group[i])) continue;
      const FanOut fan = fan_out(rails_, nodes[i], part.pairs[i].receive);
      const FlowId last_id(base + slot(multicast.remote.size() + group[i]));
      if (const auto last = legs.to_host(last_id, fan, staged, static_cast<int>(group[i]))) {
        transfers.push_back(*last);
      }
    }
  }
}

}  // namespace hoccl::engine
