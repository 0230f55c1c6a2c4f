#include "sim/run/system_kind.h"

#include <fmt/format.h>

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

// VCCL copies a message within a node as one; this is the largest chunk.
constexpr engine::Bytes kWholeMessage(std::int64_t{1} << 30);

bool stays_within_nodes(const Scenario& scenario) {
  const engine::Topology& topology = scenario.topology;
  const engine::PatternRequest& request = scenario.traffic.request;
  if (topology.node_count() == 1) return true;
  return request.name == engine::kSendRecvName &&
         topology.node_of(request.source) == topology.node_of(request.target);
}

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
      if (scenario.dynamic_buffers) return "buffers are in no registered window";
      return {};
    case SystemKind::kVccl:
      if (pattern == engine::kAllGatherName || pattern == engine::kBroadcastName) {
        return fmt::format("{}: only sends and receives run without SMs", pattern);
      }
      return {};
  }
  return {};
}

bool runs_kernels(const Scenario& scenario) {
  return kind_of(scenario.system) == SystemKind::kNcclKernels || !fallback_reason(scenario).empty();
}

int kernel_channels(const Scenario& scenario) {
  return kind_of(scenario.system) == SystemKind::kNcclKernels ? parse_nccl_channels(scenario.system)
                                                              : kFallbackChannels;
}

Scenario rival_plan(const Scenario& scenario) {
  Scenario plan = scenario;
  plan.compile.forwarding = engine::Forwarding::kOwnNic;
  // All of a rank's messages are in flight together, as credits allow.
  plan.compile.order = engine::Order::kLocal;
  plan.compile.algorithm = engine::Algorithm::kMulticast;
  plan.compile.rails = 0;
  plan.pipeline = {};
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
