#include "engine/schedule/coverage.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "engine/pattern/sendrecv.h"

namespace hoccl::engine {
namespace {

using Index = std::size_t;
using Pair = std::pair<Rank, Rank>;

/// What one transfer delivers to one of its targets.
struct Piece {
  Index transfer = 0;
  Rank target;
};

std::vector<Piece> pieces_of(const Plan& plan) {
  std::vector<Piece> pieces;
  for (Index i = 0; i < plan.transfers.size(); ++i) {
    for (const Rank target : targets_of(plan.transfers[i])) pieces.push_back({i, target});
  }
  return pieces;
}

struct Range {
  Bytes begin;
  Bytes end;
};

Range target_range(const Transfer& transfer) {
  return {transfer.target_offset, transfer.target_offset + transfer.size};
}

std::string to_string(Range range) {
  return fmt::format("bytes {} to {}", range.begin.count(), range.end.count() - 1);
}

/// Transfer numbers by `key` of their pieces, each list in order of the target offset.
template <class Key>
auto grouped(const Plan& plan, Key key) {
  std::map<decltype(key(Piece())), std::vector<Index>> groups;
  for (const Piece& piece : pieces_of(plan)) groups[key(piece)].push_back(piece.transfer);
  for (auto& [unused, group] : groups) {
    std::ranges::stable_sort(group, {}, [&](Index i) { return plan.transfers[i].target_offset; });
  }
  return groups;
}

void check_overlaps(const Plan& plan, std::vector<std::string>& violations) {
  for (const auto& [target, group] : grouped(plan, [](const Piece& p) { return p.target; })) {
    Bytes end(0);
    Index last = 0;
    for (const Index i : group) {
      const Range range = target_range(plan.transfers[i]);
      if (range.begin < end) {
        violations.push_back(
            fmt::format("transfer {}: delivers {} of rank {} again, after transfer {}", i,
                        to_string({range.begin, std::min(end, range.end)}), target, last));
      }
      if (range.end > end) {
        end = range.end;
        last = i;
      }
    }
  }
}

/// What the plan itself seems to be for: per pair of ranks one piece without gaps.
std::vector<Flow> implied_flows(const Plan& plan) {
  std::vector<Flow> flows;
  for (const auto& [pair, group] : grouped(plan, [&](const Piece& piece) {
         return Pair(plan.transfers[piece.transfer].source, piece.target);
       })) {
    const Transfer& first = plan.transfers[group.front()];
    Bytes end(0);
    for (const Index i : group) end = std::max(end, target_range(plan.transfers[i]).end);
    flows.push_back({.source = pair.first,
                     .target = pair.second,
                     .source_offset = first.source_offset,
                     .target_offset = first.target_offset,
                     .size = end - first.target_offset,
                     .flow_class = first.flow_class});
  }
  return flows;
}

/// The pattern a plan names, when its name and its transfers say enough to build it.
std::optional<Pattern> named_pattern(const Plan& plan) {
  const bool enough_ranks = plan.rank_count >= 2;
  if (plan.pattern == kSendRecvRingName && enough_ranks) {
    return send_recv_ring(plan.rank_count, plan.message_size);
  }
  if (plan.pattern == kPpChainName && enough_ranks) {
    return pp_chain(plan.rank_count, plan.message_size);
  }
  if (plan.pattern == kSendRecvName && enough_ranks && !plan.transfers.empty()) {
    const Transfer& first = plan.transfers.front();
    if (first.source != first.target) {
      return send_recv(plan.rank_count, first.source, first.target, plan.message_size);
    }
  }
  return std::nullopt;
}

class FlowChecker {
 public:
  FlowChecker(const Plan& plan, const std::vector<Flow>& flows,
              std::vector<std::string>& violations)
      : plan_(plan), flows_(flows), violations_(violations), of_flow_(flows.size()) {
    for (Index f = 0; f < flows.size(); ++f) {
      flows_of_pair_[{flows[f].source, flows[f].target}].push_back(f);
    }
  }

  void check() {
    for (const Piece& piece : pieces_of(plan_)) assign(piece);
    for (Index f = 0; f < flows_.size(); ++f) check_gaps(f);
  }

 private:
  /// Finds the flow that a transfer carries a piece of.
  void assign(const Piece& piece) {
    const Index i = piece.transfer;
    const Transfer& transfer = plan_.transfers[i];
    const Range range = target_range(transfer);
    const auto candidates = flows_of_pair_.find({transfer.source, piece.target});
    if (candidates == flows_of_pair_.end()) {
      violations_.push_back(fmt::format("transfer {}: pattern {} sends nothing from rank {} to {}",
                                        i, plan_.pattern, transfer.source, piece.target));
      return;
    }
    for (const Index f : candidates->second) {
      const Flow& flow = flows_[f];
      if (range.begin < flow.target_offset || range.end > flow.target_offset + flow.size) continue;
      of_flow_[f].push_back(i);
      check_part(i, flow);
      return;
    }
    violations_.push_back(
        fmt::format("transfer {}: delivers {} of rank {}, more than rank {} sends it", i,
                    to_string(range), piece.target, transfer.source));
  }

  void check_part(Index i, const Flow& flow) {
    const Transfer& transfer = plan_.transfers[i];
    const Bytes expected = flow.source_offset + (transfer.target_offset - flow.target_offset);
    if (transfer.source_offset != expected) {
      violations_.push_back(fmt::format(
          "transfer {}: source offset {}: expected {} for the bytes "
          "that belong at target offset {}",
          i, transfer.source_offset.count(), expected.count(), transfer.target_offset.count()));
    }
    if (transfer.flow_class != flow.flow_class) {
      violations_.push_back(
          fmt::format("transfer {}: is not of the class of its flow from rank {} to rank {}", i,
                      flow.source, flow.target));
    }
  }

  void check_gaps(Index f) {
    const Flow& flow = flows_[f];
    std::vector<Index>& pieces = of_flow_[f];
    std::ranges::stable_sort(pieces, {}, [&](Index i) { return plan_.transfers[i].target_offset; });
    Bytes covered = flow.target_offset;
    std::string before = "no transfer";
    const auto expect_reaches = [&](Bytes begin) {
      if (begin <= covered) return;
      violations_.push_back(fmt::format("{}: {} from rank {} to rank {} are never delivered",
                                        before, to_string({covered, begin}), flow.source,
                                        flow.target));
    };
    for (const Index i : pieces) {
      expect_reaches(plan_.transfers[i].target_offset);
      covered = std::max(covered, target_range(plan_.transfers[i]).end);
      before = fmt::format("after transfer {}", i);
    }
    expect_reaches(flow.target_offset + flow.size);
  }

  const Plan& plan_;
  const std::vector<Flow>& flows_;
  std::vector<std::string>& violations_;
  std::map<Pair, std::vector<Index>> flows_of_pair_;
  std::vector<std::vector<Index>> of_flow_;
};

}  // namespace

void check_coverage(const Plan& plan, const Pattern* pattern,
                    std::vector<std::string>& violations) {
  check_overlaps(plan, violations);
  if (pattern != nullptr) {
    FlowChecker(plan, pattern->flows, violations).check();
    return;
  }
  if (plan.transfers.empty() && plan.message_size > Bytes(0)) {
    violations.push_back(fmt::format("no transfer: the {} bytes of the message are never delivered",
                                     plan.message_size.count()));
    return;
  }
  const std::optional<Pattern> named = named_pattern(plan);
  const std::vector<Flow> flows = named ? named->flows : implied_flows(plan);
  FlowChecker(plan, flows, violations).check();
}

}  // namespace hoccl::engine
