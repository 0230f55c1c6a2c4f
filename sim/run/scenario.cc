#include "sim/run/scenario.h"

#include <fmt/format.h>

#include "engine/base/config_error.h"
#include "engine/runnable.h"
#include "sim/rivals/nccl_requirements.h"
#include "sim/run/simulate.h"
#include "sim/run/workload.h"

namespace hoccl::sim {

using engine::Bytes;
using engine::ConfigError;

void switch_pipelining_off(Scenario& scenario) {
  scenario.slots = 1;
  scenario.pipeline.streams = 1;
  scenario.pipeline.quantum = 1;
  scenario.pipeline.queue_pairs = 1;
  scenario.pipeline.queue_depth = 1;
  scenario.pipeline.nic_depth = 1;
  scenario.pipeline.batch = 1;
}

namespace {

void require_hoccl(const Scenario& scenario, Bytes size) {
  engine::require_runnable(scenario.traffic, size, scenario.topology, scenario.compile,
                           {.slot_size = scenario.compile.chunk_size,
                            .send_slots = scenario.slots,
                            .receive_slots = scenario.slots});
}

void require_nccl(const Scenario& scenario) {
  parse_nccl_channels(scenario.system);
  require_nccl_topology(scenario.topology);
  if (scenario.plan) {
    throw ConfigError(
        fmt::format("system = '{}': expected hoccl with a saved plan", scenario.system));
  }
  const engine::Traffic& traffic = scenario.traffic;
  if (traffic.flows != nullptr) {
    throw ConfigError(fmt::format("system = '{}': expected hoccl with pattern {}, flows of a file",
                                  scenario.system, traffic.flows->name));
  }
}

}  // namespace

void require_runnable(const Scenario& scenario, std::span<const Bytes> sizes) {
  const bool nccl = is_nccl_system(scenario.system);
  if (!nccl && scenario.system != "hoccl") {
    throw ConfigError(fmt::format("system = '{}': expected hoccl or nccl:<k>sm", scenario.system));
  }
  if (nccl) require_nccl(scenario);
  if (scenario.plan) return;  // verified when it was loaded
  for (const Bytes size : sizes) {
    if (nccl) {
      pattern_of(scenario, size);
    } else {
      require_hoccl(scenario, size);
    }
  }
}

}  // namespace hoccl::sim
