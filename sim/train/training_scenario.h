#pragma once

#include <cstdint>
#include <string>

#include "engine/pipeline/options.h"
#include "engine/schedule/compile.h"
#include "engine/topology/topology.h"
#include "sim/calibration/calibration.h"
#include "sim/machine/network.h"
#include "sim/machine/sm_contention.h"
#include "sim/train/training_setup.h"

namespace hoccl::sim {

/// Everything that decides a simulated training step.
struct TrainingScenario {
  engine::Topology topology;
  Calibration calibration;
  TrainingSetup setup;
  std::string system = "hoccl";  ///< as Scenario::system

  ContentionKind contention = ContentionKind::kLine;
  bool communication = true;
  /// The strict-priority switch: HOCCL's copies wait while tensor parallelism is active on the GPU
  /// (paper §4).
  bool priority_switch = true;
  /// Sends and receives that belong together are one call. VCCL's always are: its host functions
  /// would wait for each other for ever.
  bool group_messages = false;
  /// Tensors whose buffers are new in every operation: VCCL registers them, on the launching
  /// thread.
  bool dynamic_buffers = false;
  /// How much shorter than model.sequence samples may be, as a share: makes holes in memory
  /// (memory_use.h); times are those of the full length.
  double length_spread = 0.0;
  double busy_driver = 0.0;  ///< share of registrations that find the driver busy
  /// Gradients are reduced without SMs, as if a copy-engine ReduceScatter existed: what HOCCL
  /// leaves to NCCL (paper §4), taken away.
  bool ideal_reduce = false;

  engine::CompileOptions compile = {};
  engine::PipelineOptions pipeline = {};
  int slots = 16;
  NetworkKind network = NetworkKind::kFluid;
  std::uint64_t seed = 1;
};

/// With the SMs that nccl:<k>sm gives the kernels of pipeline and data parallelism.
TrainingScenario with_kernels_of_system(TrainingScenario scenario);

/// Throws ConfigError when the scenario cannot be simulated.
void require_trainable(const TrainingScenario& scenario);

}  // namespace hoccl::sim
