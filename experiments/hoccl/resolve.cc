#include "experiments/hoccl/resolve.h"

#include <fmt/format.h>

#include <utility>

#include "engine/base/config_error.h"
#include "engine/schedule/plan_json.h"
#include "engine/schedule/verifier.h"

namespace hoccl::cli {

using engine::ConfigError;
using engine::Rank;
using engine::Topology;

namespace {

Topology topology_of(const engine::Plan& plan, const std::string& file,
                     const std::string& topology) {
  if (topology.empty()) {
    try {
      return engine::preset_topology(plan.topology);
    } catch (const ConfigError&) {
      throw ConfigError(
          fmt::format("{}: key 'topology' = '{}': expected a preset's name, or --topology FILE",
                      file, plan.topology));
    }
  }
  Topology machine = engine::resolve_topology(topology);
  if (plan.topology == machine.name()) return machine;
  throw ConfigError(fmt::format("{}: key 'topology' = '{}': expected '{}', as --topology says",
                                file, plan.topology, machine.name()));
}

}  // namespace

void require_ranks(const PatternOptions& options, const Topology& topology) {
  const int count = topology.rank_count();
  if (count < 2) return;  // the pattern says how many it needs
  for (const auto& [option, rank] :
       {std::pair("--from", options.from), std::pair("--to", options.to)}) {
    if (rank >= count) {
      throw ConfigError(
          fmt::format("{} = '{}': expected a rank from 0 to {}", option, rank, count - 1));
    }
  }
}

Topology resolve_topology(const PatternOptions& options) {
  Topology topology =
      engine::resolve_topology(options.topology.empty() ? kDefaultTopology : options.topology);
  return options.ranks ? topology.with_ranks(*options.ranks) : topology;
}

engine::Pattern resolve_pattern(const PatternOptions& options, const Topology& topology,
                                engine::Bytes size) {
  require_ranks(options, topology);
  return engine::make_pattern({.name = options.pattern,
                               .source = Rank(options.from),
                               .target = Rank(options.to),
                               .size = size},
                              topology.rank_count());
}

engine::CompileOptions compile_options(const PatternOptions& options) {
  return {.chunk_size = options.chunk,
          .rails = options.rails,
          .forwarding = engine::parse_forwarding(options.forwarding)};
}

LoadedPlan load_plan_for(const std::string& file, const std::string& topology, int slots) {
  engine::Plan plan = engine::load_plan(file);
  Topology machine = topology_of(plan, file, topology);
  if (plan.rank_count != machine.rank_count()) machine = machine.with_ranks(plan.rank_count);
  try {
    engine::verify(plan, nullptr, machine,
                   {.slot_size = plan.chunk_size, .send_slots = slots, .receive_slots = slots});
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("{}: {}", file, error.what()));
  }
  return {std::move(plan), std::move(machine)};
}

}  // namespace hoccl::cli
