#include "experiments/hoccl/sim_verb.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "engine/pattern/allgather.h"
#include "engine/pattern/rooted.h"
#include "engine/trace/trace_recorder.h"
#include "experiments/hoccl/model.h"
#include "experiments/hoccl/output_file.h"
#include "experiments/hoccl/report.h"
#include "experiments/hoccl/resolve.h"
#include "experiments/hoccl/traffic_options.h"
#include "sim/run/simulate.h"
#include "sim/run/sweep.h"
#include "sim/run/system_kind.h"

namespace hoccl::cli {
namespace {

using engine::Bytes;
using engine::RunResult;

sim::Scenario make_scenario(const SimOptions& options, Work& work) {
  const PatternOptions& pattern = options.work.pattern;
  sim::Calibration calibration = resolve_calibration(options.model, work.topology);
  sim::Scenario scenario{
      .topology = std::move(work.topology),
      .calibration = std::move(calibration),
      .system = options.system,
      .traffic = std::move(work.traffic),
      .compile = compile_options(pattern),
      .plan = std::move(work.plan),
      .dynamic_buffers = options.dynamic_buffers,
      .unregistered_buffers = options.unregistered_buffers,
      .prebuilt_writes = options.prebuilt_writes,
      .busy_driver = options.busy_driver,
      .pxn = options.pxn,
      .pipeline = options.work.pipeline,
      .slots = options.work.slots,
      .network = resolve_network(options.model.network),
      .seed = pattern.seed,
      .warmup = options.warmup,
      .iterations = options.iterations,
  };
  if (!options.pipelining) sim::switch_pipelining_off(scenario.pipeline, scenario.slots);
  return scenario;
}

/// What only systems of simulations depend on.
void add_system_settings(const sim::Scenario& scenario, Settings& settings) {
  const bool kernels = sim::runs_kernels(scenario);
  settings.emplace_back("pxn", kernels ? (sim::uses_pxn(scenario) ? "yes" : "no") : "");
  settings.emplace_back("buffers", scenario.unregistered_buffers ? "unregistered"
                                   : scenario.dynamic_buffers    ? "dynamic"
                                                                 : "");
  settings.emplace_back("busy_driver_pct", scenario.busy_driver > 0.0
                                               ? fmt::format("{:g}", 100.0 * scenario.busy_driver)
                                               : "");
  settings.emplace_back("prebuilt_writes", scenario.prebuilt_writes ? "yes" : "");
}

/// What decides how NCCL moves it; its rings cross one NIC unless told otherwise.
Settings nccl_settings(const sim::Scenario& scenario) {
  Settings settings = traffic_settings(scenario.traffic, scenario.compile, scenario.pipeline);
  const std::string& pattern = scenario.traffic.request.name;
  const bool ring = pattern == engine::kAllGatherName || pattern == engine::kBroadcastName;
  constexpr std::array<std::string_view, 6> kOfThePattern = {"from",   "to",       "root",
                                                             "matrix", "in_place", "group"};
  for (auto& [name, value] : settings) {
    if (name == "algorithm") {
      value = ring ? "ring" : "";
    } else if (name == "nics") {
      value = ring ? std::to_string(scenario.compile.nics) : "";
    } else if (std::ranges::find(kOfThePattern, name) == kOfThePattern.end()) {
      value.clear();
    }
  }
  add_system_settings(scenario, settings);
  return settings;
}

/// What decides the plan.
Settings settings_of(const sim::Scenario& scenario) {
  if (sim::runs_kernels(scenario)) return nccl_settings(scenario);
  const bool rival = sim::kind_of(scenario.system) != sim::SystemKind::kHoccl;
  const sim::Scenario run = rival ? sim::rival_plan(scenario) : scenario;
  Settings settings = run.plan ? plan_settings(*run.plan, run.pipeline)
                               : traffic_settings(run.traffic, run.compile, run.pipeline);
  add_system_settings(scenario, settings);
  return settings;
}

ReportHead make_head(const SimOptions& options, const std::string& pattern,
                     const sim::Scenario& scenario) {
  const std::string calibration = describe_calibration(options.model, scenario.calibration);
  const std::string hash = fmt::format("{:016x}", scenario.calibration.hash());
  const std::string network(to_string(scenario.network));
  const Settings settings = settings_of(scenario);
  std::vector<std::string> notes = {settings_note(settings),
                                    fmt::format("network {}, calibration {} ({}), iterations {}",
                                                network, calibration, hash, scenario.iterations)};
  if (const std::string reason = sim::fallback_reason(scenario); !reason.empty()) {
    notes.push_back(fmt::format("{} runs kernels of {} SMs instead: {}", scenario.system,
                                sim::kernel_channels(scenario), reason));
  }
  if (!scenario.plan && !size_note(scenario.traffic).empty()) {
    notes.push_back(size_note(scenario.traffic));
  }
  return {.kind = ReportKind::kSimulated,
          .command = options.command,
          .pattern = pattern,
          .system = scenario.system,
          .topology = scenario.topology.name(),
          .ranks = scenario.topology.rank_count(),
          .seed = scenario.seed,
          .warmup = scenario.warmup,
          .notes = std::move(notes),
          .conditions = {{"network", network},
                         {"calibration", calibration},
                         {"calibration_hash", hash}},
          .settings = settings};
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
  const sim::Scenario scenario = make_scenario(options, work);
  if (options.print_calibration) {
    print_calibration(scenario.calibration);
    return;
  }
  require_one_size(options.output.trace_file, work.sizes);
  sim::require_runnable(scenario, work.sizes);
  std::vector<NamedFile> inputs = input_files(options.work.pattern);
  inputs.push_back(preset_or_file("--calibration", options.model.calibration));
  inputs.push_back({"--plan", options.work.plan_file});
  require_different_files(files_of(options.output), inputs);
  Outputs outputs = open_outputs(options.output);
  const ReportHead head = make_head(options, work.pattern, scenario);
  const std::vector<RunResult> results = simulate_all(options, scenario, work.sizes, outputs);
  if (outputs.csv) {
    write_csv(outputs.csv->stream(), head, results);
    outputs.csv->commit();
  }
  if (outputs.json) {
    write_json(outputs.json->stream(), head,
               {{"iterations", scenario.iterations}, {"options", settings_json(head.settings)}},
               results);
    outputs.json->commit();
  }
  if (outputs.trace) outputs.trace->commit();
  fmt::print("{}", table_head(head));
  for (const RunResult& result : results) fmt::print("{}", table_row(result));
}

}  // namespace hoccl::cli
