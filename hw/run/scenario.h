#pragma once

#include <optional>
#include <vector>

#include "engine/base/units.h"
#include "engine/pattern/pattern.h"
#include "engine/pipeline/options.h"
#include "engine/schedule/compile.h"
#include "engine/schedule/plan.h"
#include "engine/topology/topology.h"
#include "engine/traffic.h"
#include "hw/fabric/hw_options.h"

namespace hoccl::hw {

/// Everything that decides what is measured but the message size. Equal on all ranks.
struct RunScenario {
  engine::Topology topology;

  engine::Traffic traffic = {};
  engine::CompileOptions compile = {};
  /// Executed instead of what the traffic compiles to; fixes pattern and size.
  std::optional<engine::Plan> plan = {};

  engine::PipelineOptions pipeline = {};
  HwOptions hardware = {};
  bool one_process = false;  ///< all ranks are threads of it

  /// Operations before the measured ones: the first exports and imports user buffers.
  int warmup = 1;
  /// Operations of a round; none: up to kMaxIterations, so that a size takes about a second.
  std::optional<int> iterations = {};
  int rounds = 5;
  /// Verify every received byte.
  bool check = false;
  /// Record the legs of one more operation.
  bool legs = false;
  /// Of the bytes that are sent.
  std::uint64_t seed = 1;
};

/// nccl-tests' default.
inline constexpr int kMaxIterations = 20;

/// Throws ConfigError when the scenario cannot be run at one of these sizes. Runs nothing.
void require_runnable(const RunScenario& scenario, const std::vector<engine::Bytes>& sizes);

/// Of the buffers and the slots of all ranks together. Throws ConfigError.
engine::Bytes memory_of_all_ranks(const RunScenario& scenario, engine::Bytes largest);

/// The pattern at one size; of a saved plan, what it moves. Throws ConfigError.
engine::Pattern pattern_of(const RunScenario& scenario, engine::Bytes size);
/// What is executed at that size: the saved plan, or what the pattern compiles to. Throws
/// ConfigError.
engine::Plan plan_of(const RunScenario& scenario, engine::Bytes size);

}  // namespace hoccl::hw
