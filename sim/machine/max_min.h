#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hoccl::sim {

/// Exact max-min fair rates of flows over links, kept up to date under changes. No time, no ids:
/// links and flows are indices, rates bytes per second.
///
/// A flow's rate is right if it is at its own limit or if one of its links, its bottleneck, is full
/// and no flow over that link is faster. solve() starts from the links that changed, shares them
/// anew with all other flows held at their rates, and takes in a further link only where that
/// condition broke. So a change costs what it moves, not the size of the connected component.
class MaxMin {
 public:
  static constexpr std::size_t kMaxLinks = 8;
  using Link = std::uint32_t;
  using Flow = std::uint32_t;

  Link add_link(double capacity);
  void set_capacity(Link link, double capacity);

  /// `flow` is an index that is not in use; small indices keep the tables small. The rate is 0
  /// until the next solve().
  void add_flow(Flow flow, std::span<const Link> links, double limit);
  void remove_flow(Flow flow);

  [[nodiscard]] bool is_dirty() const { return !dirty_.empty(); }
  /// Brings all rates up to date. Returns the flows whose rate changed, valid until the next call.
  std::span<const Flow> solve();
  [[nodiscard]] double rate(Flow flow) const { return flows_[flow].rate; }

 private:
  static constexpr std::uint32_t kNone = 0xffffffffU;

  struct Hop {
    Link link;
    std::uint32_t position;  ///< in the link's flows
  };
  struct FlowState {
    double rate = 0.0;
    double new_rate = 0.0;
    double limit = 0.0;
    Link bottleneck = kNone;  ///< none: at its limit
    Link new_bottleneck = kNone;
    std::uint32_t epoch = 0;  ///< part of the present solve if equal to epoch_
    std::uint32_t hop_count = 0;
    bool fixed = false;
    std::array<Hop, kMaxLinks> hops;
  };
  struct Crossing {
    Flow flow;
    std::uint32_t hop;  ///< in the flow's hops
  };
  struct LinkState {
    double capacity = 0.0;
    double remaining = 0.0;
    std::vector<Crossing> flows;
    std::uint32_t unfixed = 0;
    std::uint32_t epoch = 0;  ///< part of the present solve, shared anew or held, if == epoch_
    bool active = false;      ///< shared anew
    bool dirty = false;
  };
  struct Share {
    double rate;
    Link link;
  };

  void mark_dirty(Link link);
  void activate(Link link);
  void prepare_links();
  void fill();
  static double fair_share(const LinkState& state) {
    return std::max(0.0, state.remaining) / state.unfixed;
  }
  void build_share_heap();
  void pop_share();
  void sift_share_down(std::size_t index);
  void fix_flows_of(Link link, double rate);
  void fix(Flow flow, double rate, Link bottleneck);
  bool has_broken(const LinkState& state, Link link) const;
  bool expand();

  std::vector<LinkState> links_;
  std::vector<FlowState> flows_;
  std::vector<Link> dirty_;
  std::uint32_t epoch_ = 0;

  // The present solve.
  std::vector<Link> solved_links_;  ///< active ones and the held ones that they touch
  std::vector<Flow> solved_flows_;
  std::vector<Flow> limited_;  ///< flows of solved_flows_ with a limit, ascending
  std::vector<Share> shares_;  ///< heap, smallest first; shares only grow, so stale ones are redone
  std::vector<Flow> changed_;
};

}  // namespace hoccl::sim
