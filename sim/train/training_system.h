#pragma once

#include <memory>

#include "engine/collective_system.h"
#include "sim/fabric/sim_fabric.h"
#include "sim/machine/sm_pool.h"
#include "sim/rivals/nccl_flows.h"
#include "sim/train/training_scenario.h"

namespace hoccl::sim {

/// Who carries which of a step's operations in the system under study. What a system leaves to
/// NCCL's kernels runs as those, on the same machine and clock.
class TrainingSystem {
 public:
  virtual ~TrainingSystem() = default;

  // By rank; peers and members are positions in the group.
  /// Of activations (`forward`) or gradients, whose order of messages between two ranks may differ;
  /// over all ranks of the job.
  virtual engine::CollectiveSystem& pipeline(engine::Rank rank, bool forward) = 0;
  /// `experts`: of the ranks that hold the same experts.
  virtual engine::CollectiveSystem& data(engine::Rank rank, bool experts) = 0;
  virtual engine::CollectiveSystem& expert(engine::Rank rank) = 0;
  virtual NcclFlowRank& tensor(engine::Rank rank) = 0;
  virtual NcclFlowRank& reduction(engine::Rank rank, bool experts) = 0;  ///< of the same groups
  virtual NcclFlowRank& everybody(engine::Rank rank) = 0;

  /// Whether foreground work is announced to the proxies.
  [[nodiscard]] virtual bool has_priority_switch() const = 0;
  /// CPU time of the launching thread before a call with buffers that are new.
  virtual engine::Seconds registration(engine::Rank rank) = 0;
  [[nodiscard]] virtual engine::Seconds proxy_time(engine::Rank rank) const = 0;
  /// Bytes that kernels have moved through the memory of the GPU.
  [[nodiscard]] virtual engine::Bytes moved_by_kernels(engine::GpuId gpu) const = 0;
  /// Nothing is in flight.
  [[nodiscard]] virtual bool is_quiescent() const = 0;
};

std::unique_ptr<TrainingSystem> make_training_system(const TrainingScenario& scenario,
                                                     SimFabric& fabric, SmPool& sms);

}  // namespace hoccl::sim
