#pragma once

#include <cstddef>
#include <vector>

#include "engine/base/ids.h"
#include "engine/base/units.h"
#include "engine/pattern/flow.h"
#include "engine/schedule/plan.h"

namespace hoccl::engine {

/// Bytes that one transfer brings to one of its targets, with where they come from in the first
/// place: the end of the chain of transfers that it comes after.
struct Delivery {
  Rank origin;
  Rank target;
  Bytes origin_offset;  ///< in the origin's send buffer
  Bytes target_offset;
  Bytes size;
  FlowClass flow_class = FlowClass::kForeground;
  std::size_t transfer = 0;  ///< position in Plan::transfers

  [[nodiscard]] Bytes end() const { return target_offset + size; }
};

/// All of a plan, transfer by transfer, target by target. Ids must ascend and what a transfer comes
/// after must be there.
std::vector<Delivery> deliveries_of(const Plan& plan);

}  // namespace hoccl::engine
