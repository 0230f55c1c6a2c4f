#pragma once

#include <string>
#include <vector>

#include "engine/base/units.h"
#include "engine/run_result.h"
#include "engine/topology/topology.h"
#include "sim/calibration/calibration.h"
#include "sim/run/scenario.h"
#include "sim/run/sweep.h"

namespace hoccl::sim {

using engine::RunResult;

inline constexpr double kRounding = 1e-9;
inline const Calibration kH800 = resolve_calibration("h800");

/// NCCL on two H800 servers.
struct NcclCase {
  int channels = 1;
  int source = 0;
  int target = 1;  ///< 8 and more: on the other server
  std::vector<std::string> settings = {};
  std::string pattern = "sendrecv";
};

inline Scenario nccl_scenario(const NcclCase& values) {
  Scenario scenario{.topology = engine::preset_topology("h800-2x8"),
                    .calibration = resolve_calibration("h800")};
  for (const std::string& each : values.settings) scenario.calibration.set(each);
  scenario.system = "nccl:" + std::to_string(values.channels) + "sm";
  scenario.traffic.request.name = values.pattern;
  scenario.traffic.request.source = engine::Rank(values.source);
  scenario.traffic.request.target = engine::Rank(values.target);
  scenario.warmup = 0;
  return scenario;
}

/// In a process of its own, so that a test may compare several.
inline RunResult simulated(const Scenario& scenario, engine::Bytes size) {
  return simulate_sizes(scenario, std::vector{size}, 1).front();
}
inline RunResult simulated(const NcclCase& values, engine::Bytes size) {
  return simulated(nccl_scenario(values), size);
}

/// One slice through one SM's copy loop.
inline engine::Seconds slice_time(const NcclConstants& nccl, engine::Bytes slice) {
  return nccl.step_overhead + slice / nccl.channel_copy_rate;
}

}  // namespace hoccl::sim
