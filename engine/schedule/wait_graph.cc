#include "engine/schedule/wait_graph.h"

#include <algorithm>
#include <compare>
#include <cstdint>
#include <tuple>
#include <utility>

#include "engine/base/check.h"
#include "engine/schedule/predecessors.h"
#include "engine/schedule/stage_uses.h"
#include "engine/schedule/wire_legs.h"

namespace hoccl::engine {
namespace {

using Node = std::size_t;

/// Who waits for whom, by node.
class Graph {
 public:
  /// `transfer` is kNoTransfer for a node that only joins others.
  Node add_node(std::size_t transfer) {
    transfers_.push_back(transfer);
    return transfers_.size() - 1;
  }
  void add_edge(Node blocker, Node waiter) { edges_.emplace_back(blocker, waiter); }

  /// Positions of the transfers of one circle, or nothing.
  [[nodiscard]] std::vector<std::size_t> cycle();

 private:
  /// Removes what can run, again and again (Kahn); true for what is left.
  [[nodiscard]] std::vector<bool> stuck();

  std::vector<std::size_t> transfers_;
  std::vector<std::pair<Node, Node>> edges_;
};

std::vector<bool> Graph::stuck() {
  std::ranges::sort(edges_);
  std::vector<std::size_t> begin(transfers_.size() + 1, 0);
  std::vector<std::size_t> missing(transfers_.size(), 0);
  for (const auto& [blocker, waiter] : edges_) {
    ++begin[blocker + 1];
    ++missing[waiter];
  }
  for (Node node = 0; node < transfers_.size(); ++node) begin[node + 1] += begin[node];
  std::vector<Node> open;
  for (Node node = 0; node < transfers_.size(); ++node) {
    if (missing[node] == 0) open.push_back(node);
  }
  std::vector<bool> left(transfers_.size(), true);
  while (!open.empty()) {
    const Node done = open.back();
    open.pop_back();
    left[done] = false;
    for (std::size_t edge = begin[done]; edge < begin[done + 1]; ++edge) {
      if (--missing[edges_[edge].second] == 0) open.push_back(edges_[edge].second);
    }
  }
  return left;
}

std::vector<std::size_t> Graph::cycle() {
  const std::vector<bool> left = stuck();
  const auto first = std::ranges::find(left, true);
  if (first == left.end()) return {};
  // Every stuck node has a stuck blocker, so walking from one to the next must come round.
  std::vector<Node> blocker_of(left.size(), left.size());
  for (const auto& [blocker, waiter] : edges_) {
    if (left[blocker] && left[waiter]) blocker_of[waiter] = blocker;
  }
  std::vector<bool> seen(left.size(), false);
  auto node = static_cast<Node>(first - left.begin());
  for (; !seen[node]; node = blocker_of[node]) {
    seen[node] = true;
    HOCCL_CHECK(blocker_of[node] < left.size(), "node {} is stuck without a stuck blocker", node);
  }
  std::vector<std::size_t> circle;
  const Node start = node;
  do {
    const std::size_t transfer = transfers_[node];
    if (transfer != kNoTransfer && (circle.empty() || circle.back() != transfer)) {
      circle.push_back(transfer);
    }
    node = blocker_of[node];
  } while (node != start);
  if (circle.size() > 1 && circle.front() == circle.back()) circle.pop_back();
  return circle;
}

/// A run of chunks of one leg that all belong to one stage and wait for one run of the leg that
/// brings them.
struct Run {
  std::int64_t end = 0;  ///< chunk behind the last
  Node node = 0;
};

/// What is busy at one direction of one NIC.
struct PortUse {
  NicId nic;
  bool sends = false;
  std::int32_t stage = 0;
  Node node = 0;

  auto operator<=>(const PortUse&) const = default;
};

class Builder {
 public:
  explicit Builder(const Plan& plan)
      : plan_(plan),
        predecessors_(predecessors_of(plan)),
        chained_(plan.transfers.size(), false),
        legs_(plan.transfers.size()) {
    for (std::size_t i = 0; i < predecessors_.size(); ++i) {
      if (predecessors_[i] != kNoTransfer) chained_[i] = chained_[predecessors_[i]] = true;
    }
  }

  Graph build() {
    for (std::size_t i = 0; i < chained_.size(); ++i) {
      if (chained_[i]) add_transfer(i);
    }
    // All that is not chained waits by stage alone: a node per pair and stage is enough.
    for (const StageUse& use : stage_uses(plan_, chained_)) {
      add_port_uses(use.send, use.receive, use.stage, graph_.add_node(use.transfer));
    }
    add_stage_order();
    return std::move(graph_);
  }

 private:
  void add_transfer(std::size_t i);
  [[nodiscard]] std::vector<StageSegment> segments(const Transfer& transfer, std::size_t leg) const;
  [[nodiscard]] const std::vector<Run>& bringing_runs(std::size_t before, Rank source) const;
  void add_port_uses(NicId send, NicId receive, std::int32_t stage, Node node) {
    uses_.push_back({send, true, stage, node});
    uses_.push_back({receive, false, stage, node});
  }
  void add_stage_order();

  const Plan& plan_;
  std::vector<std::size_t> predecessors_;
  std::vector<bool> chained_;
  std::vector<std::vector<std::vector<Run>>> legs_;  // by transfer, then leg
  std::vector<PortUse> uses_;
  Graph graph_;
};

std::vector<StageSegment> Builder::segments(const Transfer& transfer, std::size_t leg) const {
  const std::int64_t chunks = chunks_of(transfer, plan_.chunk_size);
  const WireLeg wire = wire_leg(transfer, leg);
  if (wire.stage_list < 0) return {{wire.stage, chunks}};
  return segments_of(plan_.stage_lists[static_cast<std::size_t>(wire.stage_list)], chunks);
}

/// Of the leg that delivers to `source`.
const std::vector<Run>& Builder::bringing_runs(std::size_t before, Rank source) const {
  const Transfer& transfer = plan_.transfers[before];
  for (std::size_t leg = 1; leg < leg_count(transfer); ++leg) {
    const Branch& branch = transfer.branches[leg - 1];
    if (branch.target == source ||
        std::ranges::find(branch.more_targets, source) != branch.more_targets.end()) {
      return legs_[before][leg];
    }
  }
  return legs_[before][0];
}

void Builder::add_transfer(std::size_t i) {
  const Transfer& transfer = plan_.transfers[i];
  const bool waits = predecessors_[i] != kNoTransfer;
  const std::vector<Run> nothing;
  const std::vector<Run>& brought =
      waits ? bringing_runs(predecessors_[i], transfer.source) : nothing;
  for (std::size_t leg = 0; leg < leg_count(transfer); ++leg) {
    std::vector<Run> runs;
    auto bringing = brought.begin();
    std::int64_t begin = 0;
    std::int64_t segment_end = 0;
    for (const StageSegment& segment : segments(transfer, leg)) {
      segment_end += segment.chunks;
      while (begin < segment_end) {
        const bool last = bringing == brought.end();
        const std::int64_t end = last ? segment_end : std::min(segment_end, bringing->end);
        const Node node = graph_.add_node(i);
        if (!runs.empty()) graph_.add_edge(runs.back().node, node);
        if (!last) {
          graph_.add_edge(bringing->node, node);
          if (end == bringing->end) ++bringing;
        }
        if (crosses_wire(transfer)) {
          const WireLeg wire = wire_leg(transfer, leg);
          add_port_uses(wire.send, wire.receive, segment.stage, node);
        }
        runs.push_back({end, node});
        begin = end;
      }
    }
    legs_[i].push_back(std::move(runs));
  }
}

/// A gate per NIC, direction and stage: open when everything up to that stage is done.
void Builder::add_stage_order() {
  std::ranges::sort(uses_);
  const auto port = [](const PortUse& use) { return std::tuple(use.nic, use.sends); };
  Node below = 0;
  Node gate = 0;
  bool has_below = false;
  for (std::size_t k = 0; k < uses_.size(); ++k) {
    const PortUse& use = uses_[k];
    const bool other_port = k == 0 || port(use) != port(uses_[k - 1]);
    if (other_port || use.stage != uses_[k - 1].stage) {
      has_below = !other_port;
      below = gate;
      gate = graph_.add_node(kNoTransfer);
      if (has_below) graph_.add_edge(below, gate);
    }
    if (has_below) graph_.add_edge(below, use.node);
    graph_.add_edge(use.node, gate);
  }
}

}  // namespace

std::vector<std::size_t> find_wait_cycle(const Plan& plan) {
  // Stages only ascend at a NIC and ids along a chain, so a circle needs both.
  const bool chains = std::ranges::any_of(
      plan.transfers, [](const Transfer& transfer) { return !transfer.after.is_none(); });
  if (plan.order == Order::kLocal || !chains) return {};
  return Builder(plan).build().cycle();
}

}  // namespace hoccl::engine
