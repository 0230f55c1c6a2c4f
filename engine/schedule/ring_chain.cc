#include "engine/schedule/ring_chain.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "engine/base/config_error.h"
#include "engine/schedule/forwarding.h"
#include "engine/schedule/multicast_legs.h"

namespace hoccl::engine {
namespace {

/// The ranks that take part in any of the multicasts, by node.
std::vector<std::vector<Rank>> participants(const RailMap& rails,
                                            const std::vector<Multicast>& multicasts) {
  std::vector<bool> takes_part(static_cast<std::size_t>(rails.topology().rank_count()), false);
  for (const Multicast& multicast : multicasts) {
    takes_part[multicast.source.index()] = true;
    for (const Rank rank : multicast.local) takes_part[rank.index()] = true;
    for (const NodeTargets& targets : multicast.remote) {
      for (const Rank rank : targets.ranks) takes_part[rank.index()] = true;
    }
  }
  std::vector<std::vector<Rank>> by_node(static_cast<std::size_t>(rails.topology().node_count()));
  for (std::size_t i = 0; i < takes_part.size(); ++i) {
    if (takes_part[i]) by_node[rails.node_of(Rank(i)).index()].emplace_back(i);
  }
  std::erase_if(by_node, [](const std::vector<Rank>& ranks) { return ranks.empty(); });
  return by_node;
}

}  // namespace

RingChain::RingChain(const RailMap& rails, const CompileOptions& options,
                     std::vector<Multicast> multicasts)
    : rails_(rails), options_(options), multicasts_(std::move(multicasts)) {
  if (multicasts_.empty()) return;
  // Inside one node every ring would be the same, wherever it begins.
  const bool crosses = participants(rails_, multicasts_).size() > 1;
  for (int ring = 0; ring < (crosses ? options_.nics : 1); ++ring) {
    orders_.push_back(order_of(ring));
  }
}

std::vector<Rank> RingChain::order_of(int ring) const {
  std::vector<Rank> order;
  for (const std::vector<Rank>& ranks : participants(rails_, multicasts_)) {
    const auto start = static_cast<std::size_t>(ring);
    if (start >= ranks.size()) {
      throw ConfigError(fmt::format(
          "nics = {}: expected 1 to {} rings on '{}', the ranks that take part on node {}",
          options_.nics, ranks.size(), rails_.topology().name(), rails_.node_of(ranks.front())));
    }
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      order.push_back(ranks[(start + i) % ranks.size()]);
    }
  }
  return order;
}

/// The source, then the targets in the order of the ring.
std::vector<Rank> RingChain::chain_of(const Multicast& multicast,
                                      const std::vector<Rank>& order) const {
  std::vector<bool> wants(static_cast<std::size_t>(rails_.topology().rank_count()), false);
  for (const Rank rank : multicast.local) wants[rank.index()] = true;
  for (const NodeTargets& targets : multicast.remote) {
    for (const Rank rank : targets.ranks) wants[rank.index()] = true;
  }
  std::vector<Rank> chain = {multicast.source};
  const auto start =
      static_cast<std::size_t>(std::ranges::find(order, multicast.source) - order.begin());
  for (std::size_t step = 1; step < order.size(); ++step) {
    const Rank rank = order[(start + step) % order.size()];
    if (wants[rank.index()]) chain.push_back(rank);
  }
  return chain;
}

/// Whether every NIC serves one ring only, with one neighbour on either side. Then rings need no
/// stages against each other.
bool RingChain::rings_are_apart() const {
  std::map<NicId, NicId> receiver_of;
  std::map<NicId, NicId> sender_of;
  for (const std::vector<Rank>& order : orders_) {
    for (const Multicast& multicast : multicasts_) {
      const std::vector<Rank> chain = chain_of(multicast, order);
      for (std::size_t i = 1; i < chain.size(); ++i) {
        if (rails_.node_of(chain[i - 1]) == rails_.node_of(chain[i])) continue;
        const NicPair pair = candidate_pairs(rails_.topology(), chain[i - 1], chain[i]).front();
        if (receiver_of.try_emplace(pair.send, pair.receive).first->second != pair.receive ||
            sender_of.try_emplace(pair.receive, pair.send).first->second != pair.send) {
          return false;
        }
      }
    }
  }
  return true;
}

std::vector<RingChain::Share> RingChain::shares_of(const Multicast& multicast) const {
  std::vector<Share> shares;
  for (std::size_t ring = 0; ring < orders_.size(); ++ring) {
    std::vector<Rank> chain = chain_of(multicast, orders_[ring]);
    const auto same = std::ranges::find(shares, chain, &Share::chain);
    if (same == shares.end()) {
      shares.push_back({.chain = std::move(chain), .ring = ring, .rings = 1});
    } else {
      ++same->rings;
    }
  }
  return shares;
}

void RingChain::append(std::int64_t first, std::int32_t first_stage,
                       std::vector<Transfer>& transfers) const {
  // Where a NIC has several neighbours, every chain has stages of its own.
  const bool apart = rings_are_apart();
  const auto rings = static_cast<std::int64_t>(orders_.size());
  const auto chains = static_cast<std::int64_t>(multicasts_.size()) * rings;
  Hops hops{.next_id = first, .first_stage = first_stage, .spacing = apart ? 1 : chains, .lane = 0};
  for (std::size_t m = 0; m < multicasts_.size(); ++m) {
    const Multicast& multicast = multicasts_[m];
    const std::int64_t chunks = chunk_count(multicast.size, options_.chunk_size);
    Bytes done(0);
    std::int64_t rings_done = 0;
    for (const Share& share : shares_of(multicast)) {
      rings_done += share.rings;
      const Bytes until =
          std::min(chunks * rings_done / rings * options_.chunk_size, multicast.size);
      if (until == done) continue;
      hops.lane = apart ? 0 : static_cast<std::int64_t>(m * orders_.size() + share.ring);
      append_chain(multicast, MulticastLegs(rails_, multicast, done, until - done), share.chain,
                   hops, transfers);
      done = until;
    }
  }
}

void RingChain::append_chain(const Multicast& multicast, const MulticastLegs& legs,
                             const std::vector<Rank>& chain, Hops& hops,
                             std::vector<Transfer>& transfers) const {
  FlowId after = FlowId::none();
  std::int64_t crossings = 0;
  bool wanted_back = multicast.give_back;
  for (std::size_t i = 1; i < chain.size(); ++i) {
    const FlowId hop(hops.next_id++);
    const Rank from = chain[i - 1];
    const Rank to = chain[i];
    if (rails_.node_of(from) == rails_.node_of(to)) {
      transfers.push_back(legs.passed_on(hop, from, to, after));
    } else {
      const NicPair pair = candidate_pairs(rails_.topology(), from, to).front();
      const NodeTargets target{rails_.node_of(to), {to}};
      transfers.push_back(
          legs.staged(hop, from, after, std::span(&target, 1), std::span(&pair, 1)));
      transfers.back().stage = stage_of(hops, crossings++);
    }
    // The first rank of the source's own node that has the bytes passes them back.
    if (wanted_back && rails_.node_of(to) == multicast.node) {
      transfers.push_back(legs.passed_on(FlowId(hops.next_id++), to, multicast.source, hop));
      wanted_back = false;
    }
    after = hop;
  }
}

std::int32_t RingChain::stage_of(const Hops& hops, std::int64_t crossing) const {
  if (options_.order == Order::kLocal) return 0;
  const std::int64_t stage = hops.first_stage + crossing * hops.spacing + hops.lane;
  if (stage > kMaxStage) {
    throw ConfigError(
        fmt::format("algorithm = ring: stage {}: expected at most {}", stage, kMaxStage));
  }
  return static_cast<std::int32_t>(stage);
}

}  // namespace hoccl::engine
