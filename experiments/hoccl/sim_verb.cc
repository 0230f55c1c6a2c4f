#include "experiments/hoccl/sim_verb.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "engine/base/config_error.h"
#include "engine/trace/csv_writer.h"
#include "engine/trace/perfetto_writer.h"
#include "engine/trace/trace_recorder.h"
#include "experiments/hoccl/output_file.h"
#include "experiments/hoccl/report.h"
#include "experiments/hoccl/resolve.h"
#include "sim/run/simulate.h"
#include "sim/run/sweep.h"

namespace hoccl::cli {
namespace {

using engine::Bytes;
using engine::ConfigError;

/// Files of one run, opened before it begins.
struct Outputs {
  std::unique_ptr<engine::AtomicFile> csv;
  std::unique_ptr<engine::AtomicFile> json;
  std::unique_ptr<engine::AtomicFile> trace;
};

std::vector<Bytes> sizes_of(const SimOptions& options) {
  if (options.begin > options.end) {
    throw ConfigError(fmt::format("--begin = '{}': expected no more than --end = '{}'",
                                  to_string(options.begin), to_string(options.end)));
  }
  std::vector<Bytes> sizes;
  for (Bytes size = options.begin; size <= options.end; size = size * options.factor) {
    sizes.push_back(size);
    if (size > options.end / options.factor) break;  // the next one may not fit 64 bits
  }
  return sizes;
}

void refuse_same_file(const SimOptions& options) {
  const std::vector<std::pair<std::string, std::string>> files = {
      {"--csv", options.csv_file}, {"--json", options.json_file}, {"--trace", options.trace_file}};
  for (std::size_t i = 0; i < files.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (files[i].second.empty() || files[i].second != files[j].second) continue;
      throw ConfigError(fmt::format("{} = '{}': expected another file than {}", files[i].first,
                                    files[i].second, files[j].first));
    }
  }
}

Outputs open_outputs(const SimOptions& options) {
  refuse_same_file(options);
  return {.csv = open_output("--csv", options.csv_file),
          .json = open_output("--json", options.json_file),
          .trace = open_output("--trace", options.trace_file)};
}

sim::Calibration resolve_calibration(const SimOptions& options, const engine::Topology& topology) {
  sim::Calibration calibration = options.calibration.empty()
                                     ? sim::calibration_for(topology)
                                     : sim::resolve_calibration(options.calibration);
  for (const std::string& assignment : options.assignments) calibration.set(assignment);
  return calibration;
}

sim::NetworkKind resolve_network(const std::string& name) {
  try {
    return sim::parse_network_kind(name);
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("--network: {}", error.what()));
  }
}

sim::Scenario make_scenario(const SimOptions& options, engine::Topology topology) {
  sim::Calibration calibration = resolve_calibration(options, topology);
  sim::Scenario scenario{
      .topology = std::move(topology),
      .calibration = std::move(calibration),
      .system = options.system,
      .pattern = options.pattern.pattern,
      .source = engine::Rank(options.pattern.from),
      .target = engine::Rank(options.pattern.to),
      .compile = compile_options(options.pattern),
      .plan = std::nullopt,
      .pipeline = options.pipeline,
      .slots = options.slots,
      .network = resolve_network(options.network),
      .seed = options.seed,
      .warmup = options.warmup,
      .iterations = options.iterations,
  };
  if (!options.pipelining) sim::switch_pipelining_off(scenario);
  return scenario;
}

ReportHead make_head(const SimOptions& options, const sim::Scenario& scenario) {
  ReportHead head;
  head.command = options.command;
  head.pattern = scenario.pattern;
  head.system = scenario.system;
  head.topology = scenario.topology.name();
  head.ranks = scenario.topology.rank_count();
  head.calibration = scenario.calibration.machine;
  for (const std::string& assignment : options.assignments) head.calibration += ", " + assignment;
  head.calibration_hash = scenario.calibration.hash();
  head.network = to_string(scenario.network);
  head.seed = scenario.seed;
  head.warmup = scenario.warmup;
  head.iterations = scenario.iterations;
  return head;
}

void print_calibration(const sim::Calibration& calibration) {
  fmt::print("# {}\n# {:<30} {:>12}  {:<6}  source\n", calibration.machine, "constant", "value",
             "kind");
  for (const sim::CalibrationEntry& entry : calibration.entries()) {
    fmt::print("{:<32} {:>12}  {:<6}  {}\n", entry.key, entry.value, to_string(entry.kind),
               entry.source);
  }
}

void write_trace(std::ostream& stream, const std::string& name,
                 std::span<const engine::TraceEvent> events) {
  if (std::filesystem::path(name).extension() == ".csv") {
    engine::write_trace_csv(stream, events);
  } else {
    engine::write_trace_perfetto(stream, events);
  }
}

/// With a trace the one simulation runs in this process, so that its events need not be moved.
std::vector<sim::RunResult> simulate_all(const SimOptions& options, const sim::Scenario& scenario,
                                         std::span<const Bytes> sizes, Outputs& outputs) {
  if (outputs.trace == nullptr) return sim::simulate_sizes(scenario, sizes, options.jobs);
  engine::TraceRecorder recorder;
  std::vector<sim::RunResult> results = {sim::simulate(scenario, sizes.front(), &recorder)};
  write_trace(outputs.trace->stream(), options.trace_file, recorder.events());
  return results;
}

}  // namespace

void run_sim(const SimOptions& options) {
  std::optional<LoadedPlan> loaded;
  if (!options.plan_file.empty()) {
    loaded = load_plan_for(options.plan_file, options.pattern.topology,
                           options.pipelining ? options.slots : 1);
  }
  sim::Scenario scenario =
      make_scenario(options, loaded ? loaded->topology : resolve_topology(options.pattern));
  if (options.print_calibration) {
    print_calibration(scenario.calibration);
    return;
  }
  std::vector<Bytes> sizes = sizes_of(options);
  if (loaded) {
    scenario.pattern = loaded->plan.pattern;
    sizes = {loaded->plan.message_size};
    scenario.plan = std::move(loaded->plan);
  }
  if (!options.trace_file.empty() && sizes.size() != 1) {
    throw ConfigError(fmt::format("--trace = '{}': expected one size (-b = -e), not {}",
                                  options.trace_file, sizes.size()));
  }
  if (!scenario.plan) require_ranks(options.pattern, scenario.topology);
  sim::require_runnable(scenario, sizes);
  Outputs outputs = open_outputs(options);
  const ReportHead head = make_head(options, scenario);
  const std::vector<sim::RunResult> results = simulate_all(options, scenario, sizes, outputs);
  if (outputs.csv) {
    write_csv(outputs.csv->stream(), head, results);
    outputs.csv->commit();
  }
  if (outputs.json) {
    write_json(outputs.json->stream(), head, results);
    outputs.json->commit();
  }
  if (outputs.trace) outputs.trace->commit();
  fmt::print("{}", table_head(head));
  for (const sim::RunResult& result : results) fmt::print("{}", table_row(result));
}

}  // namespace hoccl::cli
