#include "sim/fabric/world.h"

namespace hoccl::sim {

World::World(const engine::Topology& machine_topology, const Calibration& constants,
             NetworkKind network_kind, engine::TraceSink* trace_sink)
    : topology(machine_topology),
      calibration(constants),
      trace(trace_sink),
      network(make_network(network_kind, clock)),
      links(topology, calibration, *network),
      buffers(topology),
      copies_under_way(static_cast<std::size_t>(topology.gpu_count())),
      foreground_counts(static_cast<std::size_t>(topology.device_count()), 0),
      submit_times(static_cast<std::size_t>(topology.rank_count()), engine::Seconds(0.0)) {
  const std::size_t count =
      static_cast<std::size_t>(topology.device_count()) * engine::kCopyClassCount;
  engines.reserve(count);
  for (int device = 0; device < topology.device_count(); ++device) {
    for (const engine::CopyClass copy_class : engine::kCopyClasses) {
      engines.push_back(std::make_unique<SimCopyEngine>(
          clock, *network, calibration.copy_engine_of(copy_class), trace));
    }
  }
}

}  // namespace hoccl::sim
