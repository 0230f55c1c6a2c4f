#include "sim/run/scenario.h"

#include <fmt/format.h>

#include <algorithm>

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

void switch_pipelining_off(engine::PipelineOptions& pipeline, int& slots) {
  slots = 1;
  pipeline.streams = 1;
  pipeline.quantum = 1;
  pipeline.queue_pairs = 1;
  pipeline.queue_depth = 1;
  pipeline.nic_depth = 1;
  pipeline.batch = 1;
}

namespace {

void require_planned(const Scenario& scenario, Bytes size) {
  engine::require_runnable(scenario.traffic, size, scenario.topology, scenario.compile,
                           {.slot_size = scenario.compile.chunk_size,
                            .send_slots = scenario.slots,
                            .receive_slots = scenario.slots});
}

int most_ring_nics(const engine::Topology& topology) {
  std::size_t most = 1;
  for (int node = 0; node < topology.node_count(); ++node) {
    most = std::max(most, topology.ranks_of(engine::NodeId(node)).size());
  }
  return static_cast<int>(most);
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
  if (stages_on_sms(scenario) &&
      (request.name != engine::kSendRecvName || stays_within_nodes(scenario))) {
    throw ConfigError(fmt::format(
        "system = '{}': expected sendrecv between nodes with unregistered buffers: its staging "
        "within a node is not modelled",
        scenario.system));
  }
  if (runs_kernels(scenario) && scenario.compile.nics > most_ring_nics(scenario.topology)) {
    throw ConfigError(fmt::format("nics = {}: expected 1 to {}, the ranks of a node",
                                  scenario.compile.nics, most_ring_nics(scenario.topology)));
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
  if (!rival && scenario.unregistered_buffers &&
      scenario.compile.forwarding == engine::Forwarding::kOwnNic) {
    throw ConfigError("forwarding = own-nic: expected registered buffers");
  }
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
