#pragma once

#include <array>
#include <memory>
#include <vector>

#include "engine/trace/trace.h"
#include "sim/fabric/buffer_table.h"
#include "sim/fabric/link_map.h"
#include "sim/fabric/sim_copy_engine.h"
#include "sim/machine/clock.h"
#include "sim/machine/driver_lock.h"
#include "sim/machine/network.h"

namespace hoccl::sim {

class SimPort;

/// What the ports of one simulation share. Owned by SimFabric; topology and trace by its caller.
struct World {
  World(const engine::Topology& machine_topology, const Calibration& constants,
        NetworkKind network_kind, engine::TraceSink* trace_sink);

  [[nodiscard]] int device_of(engine::Rank rank) const {
    return topology.gpu(topology.gpu_of(rank)).physical;
  }
  /// Whether messages between the ranks go through the shared memory of one host.
  [[nodiscard]] bool is_local(engine::Rank left, engine::Rank right) const {
    return topology.shared_device() || topology.node_of(left) == topology.node_of(right);
  }
  [[nodiscard]] SimCopyEngine& copy_engine(int device, engine::CopyClass copy_class) {
    return *engines[static_cast<std::size_t>(device) * engine::kCopyClassCount +
                    static_cast<std::size_t>(copy_class)];
  }

  const engine::Topology& topology;
  const Calibration calibration;
  engine::TraceSink* const trace;
  Clock clock;
  std::unique_ptr<DriverLock> driver_lock;  ///< where all ranks are threads of one process
  const std::unique_ptr<Network> network;
  LinkMap links;
  BufferTable buffers;
  std::vector<std::unique_ptr<SimCopyEngine>> engines;  ///< by device, then copy class
  std::vector<engine::StagingPlace> staging;            ///< by place
  std::vector<SimPort*> ports;                          ///< by rank
  std::vector<std::array<int, 2>> copies_under_way;     ///< by GPU, then side
  std::vector<int> foreground_counts;                   ///< by device
  /// CPU time of posting an operation's copies and writes, by the operation's source.
  std::vector<engine::Seconds> submit_times;
};

}  // namespace hoccl::sim
