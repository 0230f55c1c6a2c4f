#include "sim/run/nccl_environment_of.h"

namespace hoccl::sim {

using engine::GpuId;
using engine::NicId;
using engine::Rank;

NcclEnvironment nccl_environment_of(SimFabric& fabric, const NcclConstants& constants,
                                    engine::Seconds end_latency) {
  const QueuePairConstants& queue_pair = fabric.calibration().queue_pair;
  return {
      .clock = fabric.clock(),
      .network = fabric.network(),
      .topology = fabric.topology(),
      .constants = constants,
      .queue_pair = {.message_overhead = queue_pair.message_overhead,
                     .one_way_latency = queue_pair.wire_latency,
                     .completion_latency = queue_pair.completion_latency,
                     .error_latency = queue_pair.error_latency},
      .nvlink_route =
          [&fabric](GpuId source, GpuId target) {
            const auto device = [&](GpuId gpu) { return fabric.topology().gpu(gpu).physical; };
            return fabric.links().peer_route(device(source), device(target));
          },
      .wire_route = [&fabric](NicId source,
                              NicId target) { return fabric.links().wire_route(source, target); },
      .stream = [&fabric](Rank rank, engine::StreamId stream) -> GpuStream& {
        return fabric.gpu_stream(rank, stream);
      },
      .end_latency = end_latency,
      .trace = fabric.trace(),
  };
}

}  // namespace hoccl::sim
