#pragma once

#include <optional>

#include "engine/base/units.h"
#include "engine/run_result.h"
#include "hw/run/scenario.h"

namespace hoccl::hw {

/// No operation on this link can be shorter, whatever the machine: what the busiest NIC has to send
/// at the link's rate, and then the delay. Nothing where the link has neither or no NIC sends.
std::optional<engine::Seconds> link_bound(const RunScenario& scenario, engine::Bytes size);

/// Aborts when the fastest round is below the bound: then link or clock is wrong, and none of the
/// numbers may be shown.
void check_link_bound(const engine::RunResult& result);

}  // namespace hoccl::hw
