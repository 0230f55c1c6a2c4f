#include "engine/schedule/stage_uses.h"

#include <algorithm>

#include "engine/schedule/wire_legs.h"

namespace hoccl::engine {
namespace {

struct LegUse {
  WireLeg leg;
  std::size_t transfer = 0;
};

bool same_stages(const LegUse& left, const LegUse& right) { return left.leg == right.leg; }

}  // namespace

std::vector<StageUse> stage_uses(const Plan& plan, const std::vector<bool>& left_out) {
  std::vector<LegUse> legs;
  for (std::size_t i = 0; i < plan.transfers.size(); ++i) {
    const Transfer& transfer = plan.transfers[i];
    if (!crosses_wire(transfer) || (!left_out.empty() && left_out[i])) continue;
    for (std::size_t leg = 0; leg < leg_count(transfer); ++leg) {
      legs.push_back({wire_leg(transfer, leg), i});
    }
  }
  // Stable, so that the first transfer of each kind is the one that stays.
  std::ranges::stable_sort(legs, {}, &LegUse::leg);
  legs.erase(std::unique(legs.begin(), legs.end(), same_stages), legs.end());

  std::vector<StageUse> uses;
  for (const LegUse& use : legs) {
    for_each_stage(plan, use.leg, [&](std::int32_t stage) {
      uses.push_back({use.leg.send, use.leg.receive, stage, use.transfer});
    });
  }
  std::ranges::sort(uses);
  const auto same_use = [](const StageUse& left, const StageUse& right) {
    return left.send == right.send && left.receive == right.receive && left.stage == right.stage;
  };
  uses.erase(std::unique(uses.begin(), uses.end(), same_use), uses.end());
  return uses;
}

}  // namespace hoccl::engine
