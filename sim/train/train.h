#pragma once

#include <array>
#include <vector>

#include "engine/trace/trace.h"
#include "sim/machine/compute_unit.h"
#include "sim/train/launch_thread.h"
#include "sim/train/memory_use.h"
#include "sim/train/training_scenario.h"

namespace hoccl::sim {

/// What held SMs, at one instant, on one GPU.
struct SmSample {
  engine::Seconds time{0.0};
  std::array<int, kTrafficClassCount> held{};
};

/// One simulated step.
struct TrainingResult {
  engine::Seconds step{0.0};  ///< until the last rank's last kernel has ended
  /// No step is shorter: the busiest GPU's kernels, link, copy engine, launching thread and proxy.
  engine::Seconds bound{0.0};
  double tokens_per_second = 0.0;
  double tflops_per_gpu = 0.0;  ///< as Megatron-LM counts operations
  /// Share of the step, the optimiser and the overhead apart, in which compute streams run neither
  /// kernels nor foreground communication.
  double bubble = 0.0;
  engine::Seconds forward{0.0};   ///< mean pass of a micro-batch through a model chunk (Fig. 12)
  engine::Seconds backward{0.0};  ///< the same
  /// Share of the SMs that a class holds while compute kernels run (paper §2.1); `isum` adds
  /// classes up.
  std::array<double, kTrafficClassCount> contention{};
  double isum = 0.0;
  double isum_forward = 0.0;
  double isum_backward = 0.0;
  /// SMs that PP and DP hold while compute kernels run (Fig. 1).
  double overlapped_sms = 0.0;
  std::array<int, kTrafficClassCount> peak_sms{};
  /// What compute streams stood still for, mean over ranks.
  std::array<engine::Seconds, kTrafficClassCount> exposed{};
  /// Mean time of an operation, from its stream's arrival.
  std::array<engine::Seconds, kTrafficClassCount> operation{};
  std::array<engine::Seconds, kTrafficClassCount> longest_operation{};
  std::vector<engine::Seconds> slack;  ///< of all kernels of all ranks, ascending
  double launch_busy = 0.0;            ///< share of the step, of the busiest launching thread
  double proxy_busy = 0.0;             ///< the same, of the busiest proxy
  engine::Seconds registration{0.0};   ///< per rank
  engine::Seconds compute{0.0};        ///< of forward and backward kernels, mean over ranks
  engine::Seconds compute_alone{0.0};  ///< the same, had nothing else used the GPU
  MemoryUse memory;                    ///< of rank 0's activations, over several steps
  std::vector<SmSample> sms;           ///< of rank 0, where asked for
  std::vector<RankRecord> ranks;
  std::vector<ComputeAccount> accounts;  ///< by rank
};

/// What to keep of a step beside its numbers.
struct TrainingOutputs {
  engine::TraceSink* trace = nullptr;
  bool sm_timeline = false;  ///< of rank 0
};

/// Runs one step; once per process. Throws RunError when it does not end, aborts when it beats its
/// bound.
TrainingResult train(const TrainingScenario& scenario, const TrainingOutputs& outputs = {});

}  // namespace hoccl::sim
