#include "engine/schedule/contention.h"

#include <algorithm>
#include <tuple>

#include "engine/schedule/stage_uses.h"

namespace hoccl::engine {
namespace {

/// One NIC's side of a stage use.
struct NicSide {
  NicId nic;
  std::int32_t stage = 0;
  std::size_t transfer = 0;
  NicId partner;

  auto operator<=>(const NicSide&) const = default;
};

void check_side(const Plan& plan, std::vector<NicSide> sides, const char* does,
                Violations& violations) {
  std::ranges::sort(sides);
  // Each is compared with the first use of its stage, which is that of the earliest transfer.
  std::size_t first = 0;
  for (std::size_t i = 1; i < sides.size(); ++i) {
    const NicSide& before = sides[first];
    const NicSide& side = sides[i];
    if (side.nic != before.nic || side.stage != before.stage) {
      first = i;
    } else {
      violations.add(plan.transfers[side.transfer],
                     "NIC {} {} NIC {} in stage {}, and NIC {} too, for transfer {}", side.nic,
                     does, side.partner, side.stage, before.partner,
                     plan.transfers[before.transfer].id);
    }
  }
}

}  // namespace

void check_contention(const Plan& plan, Violations& violations) {
  if (plan.order == Order::kLocal) return;
  std::vector<NicSide> sending;
  std::vector<NicSide> receiving;
  for (const StageUse& use : stage_uses(plan)) {
    sending.push_back({use.send, use.stage, use.transfer, use.receive});
    receiving.push_back({use.receive, use.stage, use.transfer, use.send});
  }
  check_side(plan, std::move(sending), "sends to", violations);
  check_side(plan, std::move(receiving), "receives from", violations);
}

}  // namespace hoccl::engine
