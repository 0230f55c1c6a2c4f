#include "experiments/hoccl/sim_verb.h"

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "engine/trace/trace_recorder.h"
#include "experiments/hoccl/model.h"
#include "experiments/hoccl/output_file.h"
#include "experiments/hoccl/report.h"
#include "experiments/hoccl/resolve.h"
#include "sim/run/simulate.h"
#include "sim/run/sweep.h"

namespace hoccl::cli {
namespace {

using engine::Bytes;
using engine::RunResult;

sim::Scenario make_scenario(const SimOptions& options, engine::Topology topology) {
  const PatternOptions& pattern = options.work.pattern;
  sim::Calibration calibration = resolve_calibration(options.model, topology);
  sim::Scenario scenario{
      .topology = std::move(topology),
      .calibration = std::move(calibration),
      .system = options.system,
      .pattern = pattern.pattern,
      .source = engine::Rank(pattern.from),
      .target = engine::Rank(pattern.to),
      .compile = compile_options(pattern),
      .plan = {},
      .pipeline = options.work.pipeline,
      .slots = options.work.slots,
      .network = resolve_network(options.model.network),
      .seed = options.seed,
      .warmup = options.warmup,
      .iterations = options.iterations,
  };
  if (!options.pipelining) sim::switch_pipelining_off(scenario);
  return scenario;
}

ReportHead make_head(const SimOptions& options, const sim::Scenario& scenario) {
  const std::string calibration = describe_calibration(options.model, scenario.calibration);
  const std::string hash = fmt::format("{:016x}", scenario.calibration.hash());
  const std::string network(to_string(scenario.network));
  return {.kind = ReportKind::kSimulated,
          .command = options.command,
          .pattern = scenario.pattern,
          .system = scenario.system,
          .topology = scenario.topology.name(),
          .ranks = scenario.topology.rank_count(),
          .seed = scenario.seed,
          .warmup = scenario.warmup,
          .notes = {fmt::format("network {}, calibration {} ({}), iterations {}", network,
                                calibration, hash, scenario.iterations)},
          .conditions = {{"network", network},
                         {"calibration", calibration},
                         {"calibration_hash", hash}},
          .settings = {}};
}

void print_calibration(const sim::Calibration& calibration) {
  fmt::print("# {}\n# {:<30} {:>12}  {:<6}  source\n", calibration.machine, "constant", "value",
             "kind");
  for (const sim::CalibrationEntry& entry : calibration.entries()) {
    fmt::print("{:<32} {:>12}  {:<6}  {}\n", entry.key, entry.value, to_string(entry.kind),
               entry.source);
  }
}

/// With a trace the one simulation runs in this process, so that its events need not be moved.
std::vector<RunResult> simulate_all(const SimOptions& options, const sim::Scenario& scenario,
                                    std::span<const Bytes> sizes, Outputs& outputs) {
  if (outputs.trace == nullptr) return sim::simulate_sizes(scenario, sizes, options.model.jobs);
  engine::TraceRecorder recorder;
  std::vector<RunResult> results = {sim::simulate(scenario, sizes.front(), &recorder)};
  write_trace(outputs.trace->stream(), options.output.trace_file, recorder.events());
  return results;
}

}  // namespace

void run_sim(const SimOptions& options) {
  Work work = resolve_work(options.work, options.pipelining ? options.work.slots : 1);
  sim::Scenario scenario = make_scenario(options, std::move(work.topology));
  if (options.print_calibration) {
    print_calibration(scenario.calibration);
    return;
  }
  scenario.pattern = work.pattern;
  scenario.plan = std::move(work.plan);
  require_one_size(options.output.trace_file, work.sizes);
  sim::require_runnable(scenario, work.sizes);
  require_different_files(files_of(options.output),
                          {preset_or_file("--topology", options.work.pattern.topology),
                           preset_or_file("--calibration", options.model.calibration),
                           {"--plan", options.work.plan_file}});
  Outputs outputs = open_outputs(options.output);
  const ReportHead head = make_head(options, scenario);
  const std::vector<RunResult> results = simulate_all(options, scenario, work.sizes, outputs);
  if (outputs.csv) {
    write_csv(outputs.csv->stream(), head, results);
    outputs.csv->commit();
  }
  if (outputs.json) {
    write_json(outputs.json->stream(), head, {{"iterations", scenario.iterations}}, results);
    outputs.json->commit();
  }
  if (outputs.trace) outputs.trace->commit();
  fmt::print("{}", table_head(head));
  for (const RunResult& result : results) fmt::print("{}", table_row(result));
}

}  // namespace hoccl::cli
