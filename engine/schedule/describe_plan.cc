#include "engine/schedule/describe_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/check.h"
#include "engine/schedule/compile.h"
#include "engine/schedule/stage_chunks.h"
#include "engine/schedule/text_table.h"
#include "engine/schedule/wire_legs.h"

namespace hoccl::engine {
namespace {

std::string_view name_of(Route route) {
  switch (route) {
    case Route::kDirect:
      return "direct";
    case Route::kStaged:
      return "staged";
    case Route::kRelayed:
      return "relayed";
    case Route::kRegistered:
      return "registered";
  }
  HOCCL_CHECK(false, "route {}", static_cast<int>(route));
}

/// The first stage and the last.
std::string stages_of(const Plan& plan, const Transfer& transfer) {
  if (!crosses_wire(transfer)) return "-";
  const WireLeg leg = wire_leg(transfer, 0);
  if (leg.stage_list < 0) return fmt::format("{}", leg.stage);
  const auto& marks = plan.stage_lists[static_cast<std::size_t>(leg.stage_list)].marks;
  return fmt::format("{}..{}", marks.front().stage, marks.back().stage);
}

/// Targets of a node joined by +, nodes by a comma.
std::string targets_text(const Transfer& transfer) {
  const auto node = [](Rank target, const std::vector<Rank>& further) {
    std::string text = fmt::format("{}", target);
    for (const Rank each : further) text += fmt::format("+{}", each);
    return text;
  };
  std::string text = node(transfer.target, transfer.more_targets);
  for (const Branch& branch : transfer.branches) {
    text += fmt::format(",{}", node(branch.target, branch.more_targets));
  }
  return text;
}

std::string receivers_text(const Transfer& transfer) {
  if (!crosses_wire(transfer)) return "-";
  std::string text = fmt::format("{}", transfer.receive_nic);
  for (const Branch& branch : transfer.branches) text += fmt::format(",{}", branch.receive_nic);
  return text;
}

/// How long the stages are when the NICs of each wait for its busiest, and what no order beats.
std::string order_line(const Plan& plan) {
  const std::vector<StageChunks> parts = stage_chunks(plan);
  if (parts.empty()) return "";
  if (plan.order == Order::kLocal) return "order local: no stages, each source interleaves\n";
  std::int64_t total = 0;
  std::int64_t longest = 0;
  std::map<std::pair<NicId, bool>, std::int64_t> by_port;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    longest = std::max(longest, parts[k].chunks);
    if (k + 1 == parts.size() || parts[k + 1].stage != parts[k].stage) {
      total += longest;
      longest = 0;
    }
    by_port[{parts[k].send, true}] += parts[k].chunks;
    by_port[{parts[k].receive, false}] += parts[k].chunks;
  }
  const auto busiest = std::ranges::max_element(
      by_port, {}, [](const auto& port_and_chunks) { return port_and_chunks.second; });
  return fmt::format("order {}: stages of {} chunk times in all, lower bound {} (NIC {}, {})\n",
                     to_string(plan.order), total, busiest->second, busiest->first.first,
                     busiest->first.second ? "sending" : "receiving");
}

}  // namespace

std::string describe_head(const Plan& plan) {
  std::int64_t chunks = 0;
  std::int32_t stages = plan.transfers.empty() ? 0 : 1;
  for (const Transfer& transfer : plan.transfers) {
    chunks += chunks_of(transfer, plan.chunk_size);
    if (!crosses_wire(transfer)) continue;
    for (std::size_t leg = 0; leg < leg_count(transfer); ++leg) {
      for_each_stage(plan, wire_leg(transfer, leg),
                     [&](std::int32_t stage) { stages = std::max(stages, stage + 1); });
    }
  }
  return fmt::format("{} of {} on {} with {} ranks: {} transfers, {} stages, {} chunks of {}\n{}",
                     plan.pattern, to_string(plan.message_size), plan.topology, plan.rank_count,
                     plan.transfers.size(), stages, chunks, to_string(plan.chunk_size),
                     order_line(plan));
}

std::string describe_transfers(const Plan& plan) {
  const bool chained =
      std::ranges::any_of(plan.transfers, [](const Transfer& t) { return !t.after.is_none(); });
  const bool relayed = std::ranges::any_of(
      plan.transfers, [](const Transfer& t) { return t.route == Route::kRelayed; });
  std::vector<std::string> head = {"transfer", "stage",       "route",  "source", "target",
                                   "send NIC", "receive NIC", "offset", "size",   "chunks"};
  if (chained) head.emplace_back("after");
  if (relayed) head.emplace_back("via place");
  TextTable table(head);
  const auto id_or_dash = [](auto id) { return id.is_none() ? "-" : fmt::format("{}", id); };
  for (const Transfer& t : plan.transfers) {
    std::vector<std::string> row = {fmt::format("{}", t.id),
                                    stages_of(plan, t),
                                    std::string(name_of(t.route)),
                                    fmt::format("{}", t.source),
                                    targets_text(t),
                                    id_or_dash(t.send_nic),
                                    receivers_text(t),
                                    to_string(t.target_offset),
                                    to_string(t.size),
                                    fmt::format("{}", chunks_of(t, plan.chunk_size))};
    if (chained) row.push_back(id_or_dash(t.after));
    if (relayed) row.push_back(id_or_dash(t.via));
    table.add(std::move(row));
  }
  return table.text();
}

std::string describe_stages(const Plan& plan, const Topology& topology) {
  if (plan.order == Order::kLocal) return "";
  // More would not fit a line.
  constexpr std::size_t kMostPairs = 8;
  const std::vector<StageChunks> parts = stage_chunks(plan);
  TextTable table({"stage", "chunks", "NIC pairs", "node to node"});
  for (std::size_t begin = 0; begin < parts.size();) {
    std::size_t end = begin;
    std::int64_t longest = 0;
    std::vector<std::pair<NodeId, NodeId>> nodes;
    for (; end < parts.size() && parts[end].stage == parts[begin].stage; ++end) {
      longest = std::max(longest, parts[end].chunks);
      nodes.emplace_back(topology.nic(parts[end].send).node, topology.nic(parts[end].receive).node);
    }
    std::ranges::sort(nodes);
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    std::string text;
    for (std::size_t k = 0; k < std::min(nodes.size(), kMostPairs); ++k) {
      text += fmt::format("{}{}>{}", k == 0 ? "" : " ", nodes[k].first, nodes[k].second);
    }
    if (nodes.size() > kMostPairs) text += " ...";
    table.add({fmt::format("{}", parts[begin].stage), fmt::format("{}", longest),
               fmt::format("{}", end - begin), text});
    begin = end;
  }
  return table.text();
}

}  // namespace hoccl::engine
