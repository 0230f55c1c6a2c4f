#include "sim/run/system_kind.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "engine/base/config_error.h"
#include "engine/pattern/allgather.h"
#include "engine/pattern/alltoall.h"
#include "engine/pattern/rooted.h"
#include "engine/pattern/sendrecv.h"
#include "sim/rivals/nccl_requirements.h"
#include "sim/run/system.h"

namespace hoccl::sim {

using engine::ConfigError;

namespace {

// Kernels that a rival without SMs falls back to: as many channels as the paper's larger NCCL.
constexpr int kFallbackChannels = 8;

// Contexts of NCCL's RMA proxy (2.31, NCCL_NUM_RMA_INT_CTX), each with a queue pair per peer.
constexpr int kRmaContexts = 4;

// VCCL copies a message within a node as one, of up to the largest chunk. A plan has one size of
// chunks, so where others cross nodes, these are cut as those are.
constexpr engine::Bytes kWholeMessage(std::int64_t{1} << 30);

}  // namespace

SystemKind kind_of(const std::string& system) {
  if (system == "hoccl") return SystemKind::kHoccl;
  if (system == "nccl:zero") return SystemKind::kNcclZero;
  if (system == "vccl") return SystemKind::kVccl;
  if (is_nccl_system(system)) {
    parse_nccl_channels(system);
    return SystemKind::kNcclKernels;
  }
  throw ConfigError(
      fmt::format("system = '{}': expected hoccl, nccl:<k>sm, nccl:zero or vccl", system));
}

std::string fallback_reason(const Scenario& scenario) {
  const std::string& pattern = scenario.traffic.request.name;
  switch (kind_of(scenario.system)) {
    case SystemKind::kHoccl:
    case SystemKind::kNcclKernels:
      return {};
    case SystemKind::kNcclZero:
      if (pattern != engine::kAllGatherName && pattern != engine::kAllToAllName) {
        return fmt::format("{}: only allgather and alltoall run without SMs", pattern);
      }
      if (scenario.dynamic_buffers || scenario.unregistered_buffers) {
        return "buffers are in no registered window";
      }
      return {};
    case SystemKind::kVccl:
      if (pattern == engine::kAllGatherName || pattern == engine::kBroadcastName) {
        return fmt::format("{}: only sends and receives run without SMs", pattern);
      }
      if (stages_on_sms(scenario)) {
        return "buffers are not registered: copies into its own GPU's slots run on SMs";
      }
      return {};
  }
  return {};
}

bool stays_within_nodes(const Scenario& scenario) {
  const engine::Topology& topology = scenario.topology;
  const engine::PatternRequest& request = scenario.traffic.request;
  const std::vector<engine::Rank> members =
      engine::members_of(scenario.traffic, topology.rank_count());
  const auto node = [&](engine::Rank member) {
    return topology.node_of(members.at(member.index()));
  };
  if (request.name == engine::kSendRecvName) return node(request.source) == node(request.target);
  return std::ranges::all_of(members, [&](engine::Rank rank) {
    return topology.node_of(rank) == topology.node_of(members.front());
  });
}

bool stages_on_sms(const Scenario& scenario) {
  return scenario.system == "vccl" && scenario.unregistered_buffers &&
         scenario.traffic.request.name != engine::kAllGatherName &&
         scenario.traffic.request.name != engine::kBroadcastName;
}

bool uses_pxn(const Scenario& scenario) {
  return runs_kernels(scenario) && scenario.pxn && !stages_on_sms(scenario);
}

bool runs_kernels(const Scenario& scenario) {
  return kind_of(scenario.system) == SystemKind::kNcclKernels || !fallback_reason(scenario).empty();
}

int kernel_channels(const Scenario& scenario) {
  if (kind_of(scenario.system) == SystemKind::kNcclKernels) {
    return parse_nccl_channels(scenario.system);
  }
  return stages_on_sms(scenario) ? static_cast<int>(scenario.calibration.vccl.staging_channels)
                                 : kFallbackChannels;
}

NcclConstants kernel_constants(const Scenario& scenario) {
  NcclConstants constants = scenario.calibration.nccl;
  if (!stages_on_sms(scenario)) return constants;
  const VcclConstants& vccl = scenario.calibration.vccl;
  constants.net_step = vccl.staging_slot;
  constants.fifo_slots = vccl.staging_slots;
  constants.step_overhead = vccl.staging_start;
  constants.channel_copy_rate = vccl.staging_copy_rate;
  constants.kernel_start = vccl.host_function_start;
  // The proxy hands over the copy, its event and the write; looking for their ends costs as much.
  const CpuConstants& cpu = scenario.calibration.cpu;
  constants.proxy_step = 2.0 * (cpu.post_peer.alone + cpu.post_event + cpu.post_write);
  return constants;
}

Scenario rival_plan(const Scenario& scenario) {
  Scenario plan = scenario;
  plan.compile.forwarding = engine::Forwarding::kOwnNic;
  // All of a rank's messages are in flight together, as credits allow.
  plan.compile.order = engine::Order::kLocal;
  // NCCL's rail ring is asked for (NCCL_HIER_CE_COLL_AG_RAIL_RING_ENABLE); VCCL has none.
  const bool rail_ring = scenario.compile.algorithm == engine::Algorithm::kRing &&
                         kind_of(scenario.system) == SystemKind::kNcclZero;
  plan.compile.algorithm = rail_ring ? engine::Algorithm::kRing : engine::Algorithm::kMulticast;
  plan.compile.rails = 0;
  plan.pipeline = {};
  plan.pipeline.timeout = scenario.pipeline.timeout;
  plan.pipeline.batch = 0;
  if (kind_of(scenario.system) == SystemKind::kNcclZero) {
    plan.compile.chunk_size = scenario.calibration.nccl_zero.chunk;
    plan.pipeline.queue_pairs = kRmaContexts;
  } else {
    plan.compile.chunk_size =
        stays_within_nodes(scenario) ? kWholeMessage : scenario.calibration.vccl.piece;
    plan.pipeline.queue_pairs = 1;
  }
  return plan;
}

std::unique_ptr<System> make_system(const Scenario& scenario, SimFabric& fabric) {
  if (runs_kernels(scenario)) return make_nccl_system(scenario, fabric);
  return kind_of(scenario.system) == SystemKind::kHoccl ? make_hoccl_system(scenario, fabric)
                                                        : make_copy_engine_rival(scenario, fabric);
}

}  // namespace hoccl::sim
