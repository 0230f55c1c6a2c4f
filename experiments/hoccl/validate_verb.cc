#include "experiments/hoccl/validate_verb.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "experiments/hoccl/model.h"
#include "experiments/hoccl/output_file.h"
#include "experiments/hoccl/recorded_run.h"
#include "experiments/hoccl/resolve.h"
#include "experiments/hoccl/run_verb.h"
#include "experiments/hoccl/run_words.h"
#include "experiments/hoccl/validation.h"
#include "hw/system/file_descriptor.h"
#include "hw/system/system_error.h"
#include "sim/run/simulate.h"
#include "sim/run/sweep.h"

namespace hoccl::cli {
namespace {

using engine::Bytes;
using engine::BytesPerSecond;

/// A name for a file that is removed again.
class TemporaryFile {
 public:
  TemporaryFile()
      : path_((std::filesystem::temp_directory_path() / "hoccl-validate-XXXXXX").string()) {
    const hw::FileDescriptor file(::mkstemp(path_.data()));
    if (!file) throw hw::SystemError(fmt::format("create {}", path_));
  }
  ~TemporaryFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
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
                         .pattern = measured.pattern,
                         .source = measured.source,
                         .target = measured.target,
                         .compile = measured.compile,
                         .plan = measured.plan,
                         .pipeline = measured.pipeline,
                         .slots = measured.hardware.slots,
                         .network = resolve_network(options.network)};
  put_link(measured.hardware, scenario);
  return scenario;
}

std::vector<Bytes> sizes_of(const RecordedRun& run) {
  std::vector<Bytes> sizes;
  for (const engine::RunResult& result : run.results) sizes.push_back(result.size);
  return sizes;
}

int validate(const ValidateOptions& options, const std::string& measured_file,
             engine::AtomicFile* csv) {
  const RecordedRun run = read_recorded_run(measured_file, options.work.pattern.topology);
  const sim::Scenario scenario = scenario_of(run, options.model);
  const std::vector<Bytes> sizes = sizes_of(run);
  sim::require_runnable(scenario, sizes);
  const std::vector<engine::RunResult> simulated =
      sim::simulate_legs(scenario, sizes, options.model.jobs);
  const std::vector<Comparison> rows = compare(simulated, run.results);
  if (csv != nullptr) {
    write_comparison_csv(csv->stream(), rows);
    csv->commit();
  }
  fmt::print("{}", comparison_table(
                       {.command = options.command,
                        .measured_command = run.command,
                        .host = run.host,
                        .hardware = run.scenario.hardware,
                        .topology = run.scenario.topology.name(),
                        .network = std::string(to_string(scenario.network)),
                        .calibration = describe_calibration(options.model, scenario.calibration)},
                       rows));
  return 0;
}

}  // namespace

int run_validate(const ValidateOptions& options) {
  // What the simulation would refuse, before anything is measured.
  resolve_network(options.model.network);
  const std::unique_ptr<engine::AtomicFile> csv = open_output("--csv", options.csv_file);
  if (!options.measured_file.empty()) return validate(options, options.measured_file, csv.get());
  resolve_calibration(options.model, resolve_topology(options.work.pattern));
  const TemporaryFile measured;
  const int exit_code = measure(options, measured.path());
  return exit_code == 0 ? validate(options, measured.path(), csv.get()) : exit_code;
}

}  // namespace hoccl::cli
