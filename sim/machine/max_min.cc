#include "sim/machine/max_min.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/base/check.h"

namespace hoccl::sim {
namespace {

/// Rates closer than this fraction are equal: above the rounding of a solve (some 1e-16 per flow
/// of a link), below anything that could show in a completion time (1e-9 is promised).
constexpr double kSameRate = 1e-12;

/// After this many rounds a solve takes in every link it touches, so that a change that runs down
/// a long chain is not solved once per hop.
constexpr int kPatientRounds = 4;

}  // namespace

MaxMin::Link MaxMin::add_link(double capacity) {
  links_.emplace_back().capacity = capacity;
  return static_cast<Link>(links_.size() - 1);
}

void MaxMin::set_capacity(Link link, double capacity) {
  links_[link].capacity = capacity;
  mark_dirty(link);
}

void MaxMin::mark_dirty(Link link) {
  if (links_[link].dirty) return;
  links_[link].dirty = true;
  dirty_.push_back(link);
}

void MaxMin::add_flow(Flow flow, std::span<const Link> links, double limit) {
  if (flow >= flows_.size()) flows_.resize(flow + 1);
  FlowState& state = flows_[flow];
  HOCCL_CHECK(state.hop_count == 0 && !links.empty() && links.size() <= kMaxLinks,
              "flow {} over {} links, {} before", flow, links.size(), state.hop_count);
  state.rate = 0.0;
  state.limit = limit;
  state.bottleneck = kNone;
  state.epoch = 0;
  state.hop_count = static_cast<std::uint32_t>(links.size());
  for (std::uint32_t hop = 0; hop < state.hop_count; ++hop) {
    std::vector<Crossing>& crossing = links_[links[hop]].flows;
    state.hops[hop] = {links[hop], static_cast<std::uint32_t>(crossing.size())};
    crossing.push_back({flow, hop});
    mark_dirty(links[hop]);
  }
}

void MaxMin::remove_flow(Flow flow) {
  FlowState& state = flows_[flow];
  HOCCL_CHECK(state.hop_count > 0, "flow {} is not there", flow);
  for (std::uint32_t hop = 0; hop < state.hop_count; ++hop) {
    const Hop& gone = state.hops[hop];
    std::vector<Crossing>& crossing = links_[gone.link].flows;
    const Crossing moved = crossing.back();
    crossing[gone.position] = moved;
    flows_[moved.flow].hops[moved.hop].position = gone.position;
    crossing.pop_back();
    mark_dirty(gone.link);
  }
  state.hop_count = 0;
  state.rate = 0.0;
}

std::span<const MaxMin::Flow> MaxMin::solve() {
  changed_.clear();
  if (dirty_.empty()) return changed_;
  ++epoch_;
  solved_links_.clear();
  solved_flows_.clear();
  limited_.clear();
  for (const Link link : dirty_) {
    links_[link].dirty = false;
    activate(link);
  }
  dirty_.clear();

  int round = 0;
  do {
    if (++round > kPatientRounds) {
      for (std::size_t i = 0; i < solved_links_.size(); ++i) activate(solved_links_[i]);
    }
    prepare_links();
    fill();
  } while (expand());

  for (const Flow flow : solved_flows_) {
    FlowState& state = flows_[flow];
    state.bottleneck = state.new_bottleneck;
    if (state.new_rate != state.rate) {
      state.rate = state.new_rate;
      changed_.push_back(flow);
    }
  }
  return changed_;
}

void MaxMin::activate(Link link) {
  LinkState& state = links_[link];
  if (state.epoch != epoch_) {
    state.epoch = epoch_;
    state.active = false;
    solved_links_.push_back(link);
  }
  if (state.active) return;
  state.active = true;
  for (const Crossing& crossing : state.flows) {
    FlowState& flow = flows_[crossing.flow];
    if (flow.epoch == epoch_) continue;
    flow.epoch = epoch_;
    solved_flows_.push_back(crossing.flow);
    if (std::isfinite(flow.limit)) limited_.push_back(crossing.flow);
    for (std::uint32_t hop = 0; hop < flow.hop_count; ++hop) {
      LinkState& touched = links_[flow.hops[hop].link];
      if (touched.epoch == epoch_) continue;
      touched.epoch = epoch_;
      touched.active = false;
      solved_links_.push_back(flow.hops[hop].link);
    }
  }
}

void MaxMin::prepare_links() {
  for (const Flow flow : solved_flows_) flows_[flow].fixed = false;
  shares_.clear();
  for (const Link link : solved_links_) {
    LinkState& state = links_[link];
    state.remaining = state.capacity;
    state.unfixed = static_cast<std::uint32_t>(state.flows.size());
    if (!state.active) {
      for (const Crossing& crossing : state.flows) {
        const FlowState& flow = flows_[crossing.flow];
        if (flow.epoch == epoch_) continue;
        state.remaining -= flow.rate;
        --state.unfixed;
      }
    }
    if (state.unfixed > 0) {
      shares_.push_back({fair_share(state), link});
    }
  }
}

/// Raises all rates together: fixes the flows of the link with the least fair share, or the flow
/// with the least limit if that is lower, and so on.
void MaxMin::fill() {
  std::sort(limited_.begin(), limited_.end(), [this](Flow left, Flow right) {
    return flows_[left].limit < flows_[right].limit ||
           (flows_[left].limit == flows_[right].limit && left < right);
  });
  auto next_limited = limited_.begin();
  build_share_heap();
  while (!shares_.empty()) {
    const Share least = shares_.front();
    const LinkState& state = links_[least.link];
    if (state.unfixed == 0) {
      pop_share();
      continue;
    }
    const double share = fair_share(state);
    if (share > least.rate) {
      shares_.front().rate = share;
      sift_share_down(0);
      continue;
    }
    while (next_limited != limited_.end() && flows_[*next_limited].fixed) ++next_limited;
    if (next_limited != limited_.end() && flows_[*next_limited].limit <= share) {
      fix(*next_limited, flows_[*next_limited].limit, kNone);
      continue;
    }
    pop_share();
    fix_flows_of(least.link, share);
  }
}

void MaxMin::build_share_heap() {
  for (std::size_t index = shares_.size() / 2; index-- > 0;) sift_share_down(index);
}

void MaxMin::pop_share() {
  shares_.front() = shares_.back();
  shares_.pop_back();
  if (!shares_.empty()) sift_share_down(0);
}

void MaxMin::sift_share_down(std::size_t index) {
  const Share share = shares_[index];
  const auto before = [](const Share& left, const Share& right) {
    return left.rate < right.rate || (left.rate == right.rate && left.link < right.link);
  };
  for (;;) {
    std::size_t child = index * 2 + 1;
    if (child >= shares_.size()) break;
    if (child + 1 < shares_.size() && before(shares_[child + 1], shares_[child])) ++child;
    if (!before(shares_[child], share)) break;
    shares_[index] = shares_[child];
    index = child;
  }
  shares_[index] = share;
}

void MaxMin::fix_flows_of(Link link, double rate) {
  for (const Crossing& crossing : links_[link].flows) {
    const FlowState& flow = flows_[crossing.flow];
    if (flow.epoch == epoch_ && !flow.fixed) fix(crossing.flow, rate, link);
  }
}

void MaxMin::fix(Flow flow, double rate, Link bottleneck) {
  FlowState& state = flows_[flow];
  state.fixed = true;
  state.new_rate = rate;
  state.new_bottleneck = bottleneck;
  for (std::uint32_t hop = 0; hop < state.hop_count; ++hop) {
    LinkState& link = links_[state.hops[hop].link];
    link.remaining -= rate;
    --link.unfixed;
  }
}

/// Whether a held link no longer justifies the rates of the flows over it.
bool MaxMin::has_broken(const LinkState& state, Link link) const {
  double fastest_held = 0.0;
  double fastest_solved = 0.0;
  double slowest_limited_here = std::numeric_limits<double>::infinity();
  double fastest_held_limited_here = 0.0;
  bool limits_held = false;
  for (const Crossing& crossing : state.flows) {
    const FlowState& flow = flows_[crossing.flow];
    if (flow.epoch == epoch_) {
      fastest_solved = std::max(fastest_solved, flow.new_rate);
      if (flow.new_bottleneck == link) {
        slowest_limited_here = std::min(slowest_limited_here, flow.new_rate);
      }
    } else {
      fastest_held = std::max(fastest_held, flow.rate);
      if (flow.bottleneck == link) {
        limits_held = true;
        fastest_held_limited_here = std::max(fastest_held_limited_here, flow.rate);
      }
    }
  }
  if (slowest_limited_here < fastest_held * (1.0 - kSameRate)) return true;
  if (!limits_held) return false;
  return state.remaining > state.capacity * kSameRate ||
         fastest_solved > fastest_held_limited_here * (1.0 + kSameRate);
}

bool MaxMin::expand() {
  bool expanded = false;
  const std::size_t count = solved_links_.size();
  for (std::size_t i = 0; i < count; ++i) {
    const Link link = solved_links_[i];
    if (links_[link].active || !has_broken(links_[link], link)) continue;
    activate(link);
    expanded = true;
  }
  return expanded;
}

}  // namespace hoccl::sim
