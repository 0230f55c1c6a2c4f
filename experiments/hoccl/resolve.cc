#include "experiments/hoccl/resolve.h"

#include <fmt/format.h>

#include <utility>

#include "engine/base/config_error.h"
#include "engine/schedule/plan_json.h"
#include "engine/schedule/verifier.h"
#include "experiments/hoccl/traffic_options.h"

namespace hoccl::cli {

using engine::ConfigError;
using engine::Topology;

namespace {

std::vector<engine::Bytes> sizes_of(const WorkOptions& options) {
  if (options.begin > options.end) {
    throw ConfigError(fmt::format("--begin = '{}': expected no more than --end = '{}'",
                                  to_string(options.begin), to_string(options.end)));
  }
  std::vector<engine::Bytes> sizes;
  for (engine::Bytes size = options.begin; size <= options.end; size = size * options.factor) {
    sizes.push_back(size);
    if (size > options.end / options.factor) break;  // the next one may not fit 64 bits
  }
  return sizes;
}

}  // namespace

Topology resolve_topology(const PatternOptions& options) {
  Topology topology =
      engine::resolve_topology(options.topology.empty() ? kDefaultTopology : options.topology);
  return options.ranks ? topology.with_ranks(*options.ranks) : topology;
}

Topology topology_named(const std::string& name, const std::string& file,
                        const std::string& topology) {
  if (topology.empty()) {
    try {
      return engine::preset_topology(name);
    } catch (const ConfigError&) {
      throw ConfigError(fmt::format(
          "{}: key 'topology' = '{}': expected a preset's name, or --topology FILE", file, name));
    }
  }
  Topology machine = engine::resolve_topology(topology);
  if (name == machine.name()) return machine;
  throw ConfigError(fmt::format("{}: key 'topology' = '{}': expected '{}', as --topology says",
                                file, name, machine.name()));
}

LoadedPlan load_plan_for(const std::string& file, const std::string& topology, int slots) {
  engine::Plan plan = engine::load_plan(file);
  Topology machine = topology_named(plan.topology, file, topology);
  if (plan.rank_count != machine.rank_count()) machine = machine.with_ranks(plan.rank_count);
  try {
    engine::verify(plan, nullptr, machine,
                   {.slot_size = plan.chunk_size, .send_slots = slots, .receive_slots = slots});
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("{}: {}", file, error.what()));
  }
  return {std::move(plan), std::move(machine)};
}

Work resolve_work(const WorkOptions& options, int slots) {
  if (!options.plan_file.empty()) {
    LoadedPlan loaded = load_plan_for(options.plan_file, options.pattern.topology, slots);
    const std::vector sizes = {loaded.plan.message_size};
    std::string pattern = loaded.plan.pattern;
    return {std::move(loaded.topology), std::move(pattern), {}, std::move(loaded.plan), sizes};
  }
  Topology topology = resolve_topology(options.pattern);
  engine::Traffic traffic = resolve_traffic(options.pattern, topology);
  std::string pattern = traffic.flows ? traffic.flows->name : traffic.request.name;
  // What brings its size with it has the same at every size.
  std::vector<engine::Bytes> sizes =
      traffic.has_own_size()
          ? std::vector{pattern_of(traffic, engine::Bytes(0), topology.rank_count()).message_size}
          : sizes_of(options);
  return {std::move(topology), std::move(pattern), std::move(traffic), std::nullopt,
          std::move(sizes)};
}

void require_one_size(const std::string& trace_file, const std::vector<engine::Bytes>& sizes) {
  if (trace_file.empty() || sizes.size() == 1) return;
  throw ConfigError(
      fmt::format("--trace = '{}': expected one size (-b = -e), not {}", trace_file, sizes.size()));
}

}  // namespace hoccl::cli
