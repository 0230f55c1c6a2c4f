#pragma once

#include <functional>

#include "engine/base/ids.h"
#include "engine/topology/topology.h"
#include "engine/trace/trace.h"
#include "sim/calibration/calibration.h"
#include "sim/machine/clock.h"
#include "sim/machine/gpu_stream.h"
#include "sim/machine/network.h"
#include "sim/machine/queue_pair.h"

namespace hoccl::sim {

/// The machine as NCCL's model uses it: the same clock, links and streams as every other system.
/// All references and functions must outlive the model.
struct NcclEnvironment {
  Clock& clock;
  Network& network;
  const engine::Topology& topology;
  NcclConstants constants;
  /// What a write pays on a queue pair; NCCL's NICs are HOCCL's.
  QueuePairParameters queue_pair;
  std::function<RouteId(engine::GpuId source, engine::GpuId target)> nvlink_route;
  std::function<RouteId(engine::NicId source, engine::NicId target)> wire_route;
  std::function<GpuStream&(engine::Rank rank, engine::StreamId stream)> stream;
  /// From the end of the last copy until the stream goes on: of a kernel nothing.
  engine::Seconds end_latency{0.0};
  engine::TraceSink* trace = nullptr;
};

}  // namespace hoccl::sim
