#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/run_result.h"
#include "engine/trace/trace.h"
#include "hw/run/scenario.h"

namespace hoccl::cli {

/// What `hoccl run --json` wrote: enough to simulate the same on another machine.
struct RecordedRun {
  std::string command;
  std::string host;  ///< where it was measured
  hw::RunScenario scenario;
  /// Size, time, rounds, legs, and the CPU's times.
  std::vector<engine::RunResult> results;
  /// Of each result: the legs of its traced operation; empty where the run was not given --trace.
  std::vector<std::vector<engine::TraceEvent>> traces;
};

/// The plan that is run, where it comes from a file: its own or that of the pattern.
std::optional<engine::Plan> plan_of_file(const hw::RunScenario& scenario);

/// The key "parameters" of the file.
nlohmann::ordered_json recorded_parameters(const hw::RunScenario& scenario);

/// `topology`: a file, where the run was not on a preset; else empty. Throws ConfigError of one
/// line, naming the file and the key, when it is not such a file or not whole.
/// The CPU's times are in every file that 'hoccl run' has ever written, so one without them is not
/// whole.
RecordedRun read_recorded_run(const std::string& file, const std::string& topology);

}  // namespace hoccl::cli
