#include "tests/fuzz/schedule_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "engine/schedule/compile_matrix.h"
#include "engine/schedule/forwarding.h"
#include "tests/support/pattern_run.h"

namespace hoccl::engine {
namespace {

bool touches(const Transfer& transfer, const Topology& topology, NodeId node) {
  const auto is_there = [&](Rank rank) { return topology.node_of(rank) == node; };
  return is_there(transfer.source) || std::ranges::any_of(targets_of(transfer), is_there);
}

/// Lists are compared by what is in them; where they are may differ.
bool same_stages(const Plan& one, std::int32_t& list, const Plan& other, std::int32_t other_list) {
  if ((list < 0) != (other_list < 0)) return false;
  if (list < 0) return true;
  const auto& ours = one.stage_lists.at(static_cast<std::size_t>(list));
  list = other_list;
  return ours == other.stage_lists.at(static_cast<std::size_t>(other_list));
}

bool same_transfer(const Plan& one, Transfer ours, const Plan& other, const Transfer& theirs) {
  if (!same_stages(one, ours.stage_list, other, theirs.stage_list)) return false;
  if (ours.branches.size() != theirs.branches.size()) return false;
  for (std::size_t i = 0; i < ours.branches.size(); ++i) {
    if (!same_stages(one, ours.branches[i].stage_list, other, theirs.branches[i].stage_list)) {
      return false;
    }
  }
  return ours == theirs;
}

std::string check_part(const Plan& part, const Plan& whole, const Topology& topology, NodeId node) {
  if (part.rank_count != whole.rank_count || part.chunk_size != whole.chunk_size ||
      part.order != whole.order || part.topology != whole.topology) {
    return "another head";
  }
  std::size_t next = 0;
  for (const Transfer& transfer : whole.transfers) {
    if (!touches(transfer, topology, node)) continue;
    if (next == part.transfers.size()) return fmt::format("no transfer {}", transfer.id);
    const Transfer& ours = part.transfers[next++];
    if (!same_transfer(part, ours, whole, transfer)) {
      return fmt::format("transfer {} where the whole plan has transfer {}, or another one",
                         ours.id, transfer.id);
    }
  }
  if (next == part.transfers.size()) return "";
  return fmt::format("transfer {} is too much", part.transfers[next].id);
}

/// NICs in the memory of the rank's own GPU, which cannot carry what it sends or receives.
std::size_t own_nics(const Topology& topology, Rank rank) {
  const GpuId gpu = topology.gpu_of(rank);
  return topology.nics_of(topology.gpu(gpu).node).size() - staging_nics(topology, gpu).size();
}

/// Pairs of NICs that are there for sure, however the two nodes' are paired.
int certain_pairs(const Topology& topology, Rank source, Rank target) {
  const auto count = [&](Rank rank) {
    return static_cast<int>(topology.nics_of(topology.node_of(rank)).size());
  };
  return std::min(count(source), count(target)) - static_cast<int>(own_nics(topology, source)) -
         static_cast<int>(own_nics(topology, target));
}

template <class Predicate>
bool any_path(const ScheduleCase& schedule_case, Predicate predicate) {
  return std::ranges::any_of(schedule_case.pattern.flows, [&](const Flow& flow) {
    return flow.size > Bytes(0) && std::ranges::any_of(targets_of(flow), [&](Rank target) {
             return predicate(flow.source, target);
           });
  });
}

/// Ranks that a multicast touches, ascending: a ring passes through all of them.
std::vector<Rank> ring_ranks(const ScheduleCase& schedule_case) {
  std::vector<Rank> ranks;
  for (const Flow& flow : schedule_case.pattern.flows) {
    if (flow.more_targets.empty() || flow.size == Bytes(0)) continue;
    ranks.push_back(flow.source);
    for (const Rank target : targets_of(flow)) ranks.push_back(target);
  }
  std::ranges::sort(ranks);
  ranks.erase(std::ranges::unique(ranks).begin(), ranks.end());
  return ranks;
}

/// How many of these ranks are on the node with fewest of them.
std::ptrdiff_t fewest_on_a_node(const std::vector<Rank>& ranks, const Topology& topology) {
  std::ptrdiff_t fewest = std::ssize(ranks);
  for (const Rank rank : ranks) {
    fewest = std::min(fewest, std::ranges::count(ranks, topology.node_of(rank), [&](Rank other) {
                        return topology.node_of(other);
                      }));
  }
  return fewest;
}

bool is_there(const ScheduleCase& schedule_case, const std::string& text) {
  const Topology& topology = schedule_case.topology;
  const CompileOptions& options = schedule_case.compile;
  const auto is_node_to_node = [&](Rank source, Rank target) {
    return topology.node_of(source) != topology.node_of(target);
  };
  if (text.find("expected a NIC next to another GPU") != std::string::npos) {
    const auto has_none = [&](Rank rank) {
      return staging_nics(topology, topology.gpu_of(rank)).empty();
    };
    // A ring leaves a node from whoever comes last in it.
    if (options.algorithm == Algorithm::kRing &&
        std::ranges::any_of(ring_ranks(schedule_case), has_none)) {
      return true;
    }
    return any_path(schedule_case, [&](Rank source, Rank target) {
      return is_node_to_node(source, target) && (has_none(source) || has_none(target));
    });
  }
  if (text.find("own share to pass through") != std::string::npos) {
    return topology.staging() == StagingKind::kPeer &&
           any_path(schedule_case, [&](Rank source, Rank target) {
             return source == target && topology.gpus_of(topology.node_of(source)).size() == 1;
           });
  }
  const bool own_nic = options.forwarding == Forwarding::kOwnNic;
  if (text.starts_with("order = ")) {
    return own_nic && options.algorithm == Algorithm::kRing && options.order != Order::kLocal;
  }
  if (text.starts_with("rails = ") && own_nic) {
    const auto own = [&](Rank rank) { return std::ssize(topology.nics_of(topology.gpu_of(rank))); };
    return any_path(schedule_case, [&](Rank source, Rank target) {
      return is_node_to_node(source, target) && options.rails > std::min(own(source), own(target));
    });
  }
  if (text.starts_with("rails = ")) {
    return any_path(schedule_case, [&](Rank source, Rank target) {
      return is_node_to_node(source, target) &&
             options.rails > std::max(1, certain_pairs(topology, source, target));
    });
  }
  if (text.starts_with("nics = ")) {
    return options.algorithm == Algorithm::kRing &&
           options.nics > fewest_on_a_node(ring_ranks(schedule_case), topology);
  }
  return false;
}

}  // namespace

std::string check_violations(const ScheduleCase& schedule_case, const Plan& plan) {
  const std::vector<std::string> violations =
      find_violations(plan, &schedule_case.pattern, schedule_case.topology, schedule_case.slots());
  if (violations.empty()) return "";
  return fmt::format("{} violations, first: {}", violations.size(), violations.front());
}

std::string check_node_plans(const ScheduleCase& schedule_case, const Plan& plan) {
  const Topology& topology = schedule_case.topology;
  for (int i = 0; i < topology.node_count(); ++i) {
    const NodeId node(i);
    std::string wrong =
        check_part(compile_for_node(schedule_case.pattern, topology, schedule_case.compile, node),
                   plan, topology, node);
    if (!wrong.empty()) return fmt::format("part of node {}: {}", i, wrong);
    if (!schedule_case.counted) continue;
    const auto& [matrix, in_place] = *schedule_case.counted;
    wrong =
        check_part(compile_matrix_for_node(matrix, in_place, topology, schedule_case.compile, node),
                   plan, topology, node);
    if (!wrong.empty()) return fmt::format("part of node {} from the matrix: {}", i, wrong);
  }
  return "";
}

std::string check_refusal(const ScheduleCase& schedule_case, const std::string& text) {
  if (text.find('\n') != std::string::npos) return "refused in several lines: " + text;
  return is_there(schedule_case, text) ? "" : "refused for no reason: " + text;
}

std::string check_run(const ScheduleCase& schedule_case, const Plan& plan) {
  const Topology& topology = schedule_case.topology;
  Plans plans;
  if (schedule_case.node_plans) {
    for (int node = 0; node < topology.node_count(); ++node) {
      plans.push_back(std::make_shared<const Plan>(
          compile_for_node(schedule_case.pattern, topology, schedule_case.compile, NodeId(node))));
    }
  } else {
    plans.push_back(std::make_shared<const Plan>(plan));
  }
  PatternRun run(topology, schedule_case.fabric, schedule_case.pipeline);
  run.enqueue(schedule_case.pattern, plans);
  run.run();
  return run.wrong();
}

}  // namespace hoccl::engine
