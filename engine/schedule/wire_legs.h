#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

#include "engine/schedule/plan.h"

namespace hoccl::engine {

/// One crossing of the network.
struct WireLeg {
  NicId send;
  NicId receive;
  std::int32_t stage = 0;
  std::int32_t stage_list = -1;

  auto operator<=>(const WireLeg&) const = default;
};

/// How many legs of the kind that delivers a transfer has: one, and one for each branch.
inline std::size_t leg_count(const Transfer& transfer) { return 1 + transfer.branches.size(); }

/// Of a transfer between nodes: leg 0 to `target`, leg k to branch k - 1.
inline WireLeg wire_leg(const Transfer& transfer, std::size_t leg) {
  if (leg == 0) {
    return {transfer.send_nic, transfer.receive_nic, transfer.stage, transfer.stage_list};
  }
  const Branch& branch = transfer.branches[leg - 1];
  return {transfer.send_nic, branch.receive_nic, branch.stage, branch.stage_list};
}

/// Calls visit(stage) for every stage that the chunks of a leg may belong to.
template <class Visit>
void for_each_stage(const Plan& plan, const WireLeg& leg, Visit visit) {
  if (leg.stage_list < 0) {
    visit(leg.stage);
    return;
  }
  for (const StageMark& mark : plan.stage_lists[static_cast<std::size_t>(leg.stage_list)].marks) {
    visit(mark.stage);
  }
}

}  // namespace hoccl::engine
