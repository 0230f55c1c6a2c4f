#include "engine/schedule/growth.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

#include "engine/schedule/predecessors.h"

namespace hoccl::engine {
namespace {

/// One step of a hash of numbers: the finaliser of SplitMix64 (Steele, Lea, Flood 2014).
std::uint64_t mixed(std::uint64_t hash, std::int64_t number) {
  std::uint64_t z = hash + static_cast<std::uint64_t>(number) + 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

std::uint64_t mixed(std::uint64_t hash, Rank target, const std::vector<Rank>& further) {
  hash = mixed(hash, target.value());
  for (const Rank rank : further) hash = mixed(hash, rank.value());
  return hash;
}

/// Of the way a transfer's bytes take, without sizes and offsets.
std::uint64_t hash_of_path(const Transfer& t) {
  std::uint64_t hash = mixed(static_cast<std::uint64_t>(t.route), t.source.value());
  hash = mixed(hash, t.target, t.more_targets);
  for (const std::int32_t number :
       {t.send_nic.value(), t.receive_nic.value(), t.via.value(), t.stage, t.stage_list,
        static_cast<std::int32_t>(t.flow_class)}) {
    hash = mixed(hash, number);
  }
  for (const Branch& branch : t.branches) {
    hash = mixed(hash, branch.target, branch.more_targets);
    hash = mixed(hash, branch.receive_nic.value());
    hash = mixed(mixed(hash, branch.stage), branch.stage_list);
  }
  return hash;
}

/// A transfer that comes after none, with the way it and all that comes after it take.
struct Root {
  Rank source;
  Rank target;
  std::uint64_t ways = 0;
  Bytes target_offset;
  std::size_t transfer = 0;

  auto operator<=>(const Root&) const = default;
};

/// Sorted, so that those whose bytes take the same ways follow each other by offset.
std::vector<Root> roots_of(const Plan& plan) {
  const std::vector<std::size_t> predecessors = predecessors_of(plan);
  // Sums of what comes after, so that their order does not matter. Ids ascend along a chain.
  std::vector<std::uint64_t> following(plan.transfers.size(), 0);
  std::vector<Root> roots;
  for (std::size_t i = plan.transfers.size(); i-- > 0;) {
    const Transfer& transfer = plan.transfers[i];
    const std::uint64_t ways =
        mixed(hash_of_path(transfer), static_cast<std::int64_t>(following[i]));
    if (predecessors[i] == kNoTransfer) {
      roots.push_back({transfer.source, transfer.target, ways, transfer.target_offset, i});
    } else {
      following[predecessors[i]] += ways;
    }
  }
  std::ranges::sort(roots);
  return roots;
}

/// Where flows begin, by target.
using Beginning = std::pair<Rank, Bytes>;

std::vector<Beginning> beginnings_of(const std::vector<Flow>& flows) {
  std::vector<Beginning> beginnings;
  for (const Flow& flow : flows) {
    beginnings.emplace_back(flow.target, flow.target_offset);
    for (const Rank target : flow.more_targets) beginnings.emplace_back(target, flow.target_offset);
  }
  std::ranges::sort(beginnings);
  return beginnings;
}

}  // namespace

void check_growth(const Plan& plan, const std::vector<Flow>& flows, Violations& violations) {
  const std::vector<Root> roots = roots_of(plan);
  std::vector<Beginning> beginnings;
  for (std::size_t k = 1; k < roots.size(); ++k) {
    const Transfer& before = plan.transfers[roots[k - 1].transfer];
    const Transfer& transfer = plan.transfers[roots[k].transfer];
    if (roots[k - 1].ways != roots[k].ways || before.source != transfer.source ||
        before.target != transfer.target ||
        before.target_offset + before.size != transfer.target_offset ||
        before.source_offset + before.size != transfer.source_offset) {
      continue;
    }
    // Needed for few plans only.
    if (beginnings.empty()) beginnings = beginnings_of(flows);
    const Beginning here(transfer.target, transfer.target_offset);
    if (std::ranges::binary_search(beginnings, here)) continue;
    violations.add(transfer,
                   "continues transfer {} on the same path: expected one transfer, whatever the "
                   "size",
                   before.id);
  }
}

}  // namespace hoccl::engine
