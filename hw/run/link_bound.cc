#include "hw/run/link_bound.h"

#include <algorithm>

#include "engine/base/check.h"
#include "engine/schedule/port_loads.h"

namespace hoccl::hw {

using engine::Bytes;
using engine::Seconds;

namespace {

// Times since the machine was started are doubles, good to some 0.1 ns, and are added up once per
// chunk, each of which takes microseconds.
constexpr double kSlack = 1e-4;

}  // namespace

std::optional<Seconds> link_bound(const RunScenario& scenario, Bytes size) {
  const HwOptions& hardware = scenario.hardware;
  if (!hardware.link_rate && hardware.link_delay == Seconds(0.0)) return std::nullopt;
  const engine::Plan plan = plan_of(scenario, size);
  // Only sending is shaped: a NIC receives from several as fast as they send.
  const auto sent = engine::loads_of(plan, scenario.topology).nic_out;
  const Bytes most = sent.empty() ? Bytes(0) : std::ranges::max(sent);
  if (most == Bytes(0)) return std::nullopt;
  return (hardware.link_rate ? most / *hardware.link_rate : Seconds(0.0)) + hardware.link_delay;
}

void check_link_bound(const engine::RunResult& result) {
  if (!result.bound) return;
  HOCCL_CHECK(result.rounds->fastest >= *result.bound * (1.0 - kSlack),
              "{} bytes in {} us beat the link's bound of {} us", result.size.count(),
              engine::microseconds(result.rounds->fastest), engine::microseconds(*result.bound));
}

}  // namespace hoccl::hw
