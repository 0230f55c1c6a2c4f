#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/pipeline/options.h"
#include "engine/schedule/compile.h"
#include "engine/topology/topology.h"
#include "engine/traffic.h"
#include "experiments/hoccl/options.h"

namespace hoccl::cli {

/// Whether the text names a matrix or a list of flows, not a known pattern.
bool is_pattern_file(std::string_view pattern);

/// Reads the files that the options name. Throws ConfigError when an option was given that the
/// pattern has no use for, when options contradict each other, or when a rank is none.
engine::Traffic resolve_traffic(const PatternOptions& options, const engine::Topology& topology);

/// Throws ConfigError.
engine::CompileOptions compile_options(const PatternOptions& options);

/// Column and value of everything that the numbers of a run depend on, next to the model or the
/// machine; empty where the pattern has no use for it.
using Settings = std::vector<std::pair<std::string, std::string>>;
Settings traffic_settings(const engine::Traffic& traffic, const engine::CompileOptions& compile,
                          const engine::PipelineOptions& pipeline);
/// Of a saved plan.
Settings plan_settings(const engine::Plan& plan, const engine::PipelineOptions& pipeline);

/// What the table's sizes mean, where that needs words; else empty.
std::string size_note(const engine::Traffic& traffic);

/// Those that are not empty, in one line.
std::string settings_note(const Settings& settings);

}  // namespace hoccl::cli
