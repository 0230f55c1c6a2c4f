#include "sim/run/scenario.h"

#include <fmt/format.h>

#include "engine/base/config_error.h"
#include "engine/pattern/sendrecv.h"
#include "engine/runnable.h"
#include "sim/rivals/nccl_requirements.h"
#include "sim/run/simulate.h"
#include "sim/run/system_kind.h"
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

void require_planned(const Scenario& scenario, Bytes size) {
  engine::require_runnable(scenario.traffic, size, scenario.topology, scenario.compile,
                           {.slot_size = scenario.compile.chunk_size,
                            .send_slots = scenario.slots,
                            .receive_slots = scenario.slots});
}

void require_rival(const Scenario& scenario) {
  require_nccl_topology(scenario.topology);
  if (scenario.plan) {
    throw ConfigError(
        fmt::format("system = '{}': expected hoccl with a saved plan", scenario.system));
  }
  if (scenario.traffic.flows != nullptr) {
    throw ConfigError(fmt::format("system = '{}': expected hoccl with pattern {}, flows of a file",
                                  scenario.system, scenario.traffic.flows->name));
  }
  const engine::PatternRequest& request = scenario.traffic.request;
  const engine::Topology& topology = scenario.topology;
  if (scenario.system == "vccl" && scenario.unregistered_buffers &&
      (request.name != engine::kSendRecvName ||
       topology.node_of(request.source) == topology.node_of(request.target))) {
    throw ConfigError(fmt::format(
        "system = '{}': expected sendrecv between nodes with unregistered buffers: its staging "
        "within a node is not modelled",
        scenario.system));
  }
  if (!runs_kernels(scenario) && !request.in_place && !engine::is_send_recv(request.name)) {
    throw ConfigError(
        fmt::format("system = '{}': expected --in-place with it: a copy within a GPU "
                    "by its copy engine is not modelled",
                    scenario.system));
  }
}

}  // namespace

void require_runnable(const Scenario& scenario, std::span<const Bytes> sizes) {
  const bool rival = kind_of(scenario.system) != SystemKind::kHoccl;
  if (rival) require_rival(scenario);
  if (scenario.plan) return;  // verified when it was loaded
  for (const Bytes size : sizes) {
    if (rival && runs_kernels(scenario)) {
      pattern_of(scenario, size);
    } else {
      require_planned(rival ? rival_plan(scenario) : scenario, size);
    }
  }
}

}  // namespace hoccl::sim
