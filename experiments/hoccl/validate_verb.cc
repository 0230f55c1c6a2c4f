#include "experiments/hoccl/validate_verb.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "engine/base/config_error.h"
#include "engine/trace/leg_times.h"
#include "engine/trace/perfetto_writer.h"
#include "engine/trace/trace_recorder.h"
#include "experiments/hoccl/model.h"
#include "experiments/hoccl/output_file.h"
#include "experiments/hoccl/recorded_run.h"
#include "experiments/hoccl/recorded_trace.h"
#include "experiments/hoccl/resolve.h"
#include "experiments/hoccl/run_verb.h"
#include "experiments/hoccl/run_words.h"
#include "experiments/hoccl/validation.h"
#include "hw/bootstrap/launch.h"
#include "hw/system/file_descriptor.h"
#include "hw/system/system_error.h"
#include "sim/run/simulate.h"
#include "sim/run/sweep.h"

namespace hoccl::cli {
namespace {

using engine::Bytes;
using engine::BytesPerSecond;
using engine::TraceEvent;

/// A file without a name, which the ranks of a job inherit: nothing is left of it, whoever is
/// killed.
class NamelessFile {
 public:
  NamelessFile() : file_(::memfd_create("hoccl-validate", 0)) {
    if (!file_) throw hw::SystemError("memfd_create");
  }

  /// In this process, and in those that it starts.
  [[nodiscard]] std::string path() const { return fmt::format("/dev/fd/{}", file_.get()); }

 private:
  hw::FileDescriptor file_;
};

/// While it lives, what this process and its children print goes nowhere; errors still show.
class SilentOutput {
 public:
  SilentOutput() : kept_(::dup(STDOUT_FILENO)) {
    std::fflush(stdout);
    const hw::FileDescriptor nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    if (!kept_ || !nowhere) throw hw::SystemError("open /dev/null");
    ::dup2(nowhere.get(), STDOUT_FILENO);
  }
  ~SilentOutput() { ::dup2(kept_.get(), STDOUT_FILENO); }
  SilentOutput(const SilentOutput&) = delete;
  SilentOutput& operator=(const SilentOutput&) = delete;

 private:
  hw::FileDescriptor kept_;
};

/// `hoccl run` with the same options, in processes of its own. Returns its exit code.
int measure(const ValidateOptions& options, const std::string& json_file) {
  RunOptions run;
  run.work = options.work;
  run.measure = options.measure;
  run.output.json_file = json_file;
  // Then the JSON holds the timeline, too, which is where it is wanted.
  if (!options.trace_file.empty()) run.output.trace_file = "/dev/null";
  run.words = run_words(run);
  const SilentOutput silent;
  return run_run(run);
}

/// The machine as it was run: the link is put into the simulated NICs.
void put_link(const hw::HwOptions& hardware, sim::Scenario& scenario) {
  engine::TopologyDescription machine = scenario.topology.description();
  if (hardware.link == hw::LinkKind::kLoopbackMap) {
    machine.wire = engine::WireKind::kMap;
    machine.switch_tiers.clear();
    for (engine::NicDescription& nic : machine.nics) {
      nic.rate = BytesPerSecond(std::numeric_limits<double>::infinity());
    }
  }
  if (hardware.link_rate) {
    machine.wire = engine::WireKind::kNic;
    for (engine::NicDescription& nic : machine.nics) nic.rate = *hardware.link_rate;
    scenario.calibration.nic.efficiency = 1.0;
  }
  if (hardware.link_rate || hardware.link_delay > engine::Seconds(0.0)) {
    scenario.calibration.queue_pair.wire_latency = hardware.link_delay;
  }
  scenario.topology = engine::Topology(std::move(machine));
}

sim::Scenario scenario_of(const RecordedRun& run, const ModelOptions& options) {
  const hw::RunScenario& measured = run.scenario;
  sim::Scenario scenario{.topology = measured.topology,
                         .calibration = resolve_calibration(options, measured.topology),
                         .traffic = measured.traffic,
                         .compile = measured.compile,
                         .plan = measured.plan,
                         .pipeline = measured.pipeline,
                         .slots = measured.hardware.slots,
                         .one_process = measured.one_process,
                         .network = resolve_network(options.network)};
  put_link(measured.hardware, scenario);
  return scenario;
}

std::vector<Bytes> sizes_of(const RecordedRun& run) {
  std::vector<Bytes> sizes;
  for (const engine::RunResult& result : run.results) sizes.push_back(result.size);
  return sizes;
}

void require_perfetto(const std::string& trace_file) {
  if (std::filesystem::path(trace_file).extension() != ".csv") return;
  throw engine::ConfigError(fmt::format(
      "--trace = '{}': expected a .json file, because a CSV has one timeline", trace_file));
}

Outputs open_files(const ValidateOptions& options) {
  std::vector<NamedFile> inputs = input_files(options.work.pattern);
  inputs.push_back(preset_or_file("--calibration", options.model.calibration));
  inputs.push_back({"--plan", options.work.plan_file});
  inputs.push_back({"--measured", options.measured_file});
  const OutputOptions files{options.csv_file, options.json_file, options.trace_file};
  require_perfetto(files.trace_file);
  require_different_files(files_of(files), inputs);
  return open_outputs(files);
}

/// The measured timeline, of which there must be one.
const std::vector<TraceEvent>& measured_legs(const RecordedRun& run, const std::string& file,
                                             const std::vector<Bytes>& sizes,
                                             const std::string& trace_file) {
  require_one_size(trace_file, sizes);
  if (run.traces.front().empty()) {
    throw engine::ConfigError(fmt::format(
        "--measured = '{}': holds no timeline for --trace: expected what 'hoccl run --json FILE "
        "--trace FILE' records",
        file));
  }
  return run.traces.front();
}

/// In this process, so that the events need not be moved; once per process.
engine::RunResult simulate_traced(const sim::Scenario& scenario, Bytes size,
                                  std::vector<TraceEvent>& legs) {
  engine::TraceRecorder recorder;
  engine::RunResult result = sim::simulate(scenario, size, &recorder);
  result.legs = engine::leg_times(recorder.events());
  legs = legs_from_first(recorder.events());
  return result;
}

/// The legs of one operation; also writes both timelines, where asked for.
std::vector<engine::RunResult> simulate_legs(const ValidateOptions& options,
                                             const sim::Scenario& scenario,
                                             const std::string& measured_file,
                                             const RecordedRun& run, const Outputs& files) {
  const std::vector<Bytes> sizes = sizes_of(run);
  if (files.trace == nullptr) return sim::simulate_legs(scenario, sizes, options.model.jobs);
  const std::vector<TraceEvent>& measured =
      measured_legs(run, measured_file, sizes, options.trace_file);
  std::vector<TraceEvent> simulated;
  std::vector<engine::RunResult> results = {simulate_traced(scenario, sizes.front(), simulated)};
  const std::array<engine::NamedTrace, 2> traces = {
      {{"simulated", simulated}, {"measured", measured}}};
  engine::write_trace_perfetto(files.trace->stream(), traces);
  return results;
}

/// As measured: as many operations of a round, one behind the other.
std::vector<engine::RunResult> simulate_rounds(sim::Scenario scenario, const RecordedRun& run,
                                               int jobs) {
  scenario.back_to_back = true;
  std::vector<int> iterations;
  for (const engine::RunResult& result : run.results) {
    iterations.push_back(result.rounds->iterations);
  }
  return sim::simulate_sizes(scenario, sizes_of(run), iterations, jobs);
}

int validate(const ValidateOptions& options, const std::string& measured_file,
             const Outputs& files) {
  const RecordedRun run = read_recorded_run(measured_file, options.work.pattern.topology);
  const sim::Scenario scenario = scenario_of(run, options.model);
  sim::require_runnable(scenario, sizes_of(run));
  std::vector<engine::RunResult> simulated = simulate_rounds(scenario, run, options.model.jobs);
  const std::vector<engine::RunResult> with_legs =
      simulate_legs(options, scenario, measured_file, run, files);
  for (std::size_t i = 0; i < simulated.size(); ++i) simulated[i].legs = with_legs[i].legs;
  const std::vector<Comparison> rows = compare(simulated, run.results);
  const ComparisonHead head = {
      .command = options.command,
      .measured_command = run.command,
      .host = run.host,
      .hardware = run.scenario.hardware,
      .topology = run.scenario.topology.name(),
      .network = std::string(to_string(scenario.network)),
      .calibration = describe_calibration(options.model, scenario.calibration),
      .wire = scenario.topology.wire()};
  if (files.csv) {
    write_comparison_csv(files.csv->stream(), rows);
    files.csv->commit();
  }
  if (files.json) {
    write_comparison_json(files.json->stream(), head, rows);
    files.json->commit();
  }
  if (files.trace) files.trace->commit();
  fmt::print("{}", comparison_table(head, rows));
  return 0;
}

bool has_launcher() {
  try {
    return hw::read_launch_environment().has_value();
  } catch (const engine::ConfigError&) {
    return true;  // one that has not said enough for a run
  }
}

}  // namespace

int run_validate(const ValidateOptions& options) {
  // What the simulation would refuse, before anything is measured.
  resolve_network(options.model.network);
  if (options.measured_file.empty() && has_launcher()) {
    throw engine::ConfigError(
        "hoccl validate: started by a launcher, which it cannot be; expected 'hoccl run --json "
        "FILE' there, then 'hoccl validate --measured FILE' alone");
  }
  const Outputs files = open_files(options);
  if (!options.measured_file.empty()) return validate(options, options.measured_file, files);
  resolve_calibration(options.model, resolve_topology(options.work.pattern));
  if (files.trace)
    require_one_size(options.trace_file, resolve_work(options.work, options.work.slots).sizes);
  const NamelessFile measured;
  const int exit_code = measure(options, measured.path());
  return exit_code == 0 ? validate(options, measured.path(), files) : exit_code;
}

}  // namespace hoccl::cli
