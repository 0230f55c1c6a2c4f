#include "experiments/hoccl/run_verb.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>
#include <vector>

#include "engine/base/config_error.h"
#include "engine/schedule/plan_json.h"
#include "experiments/hoccl/option_reader.h"
#include "experiments/hoccl/output_file.h"
#include "experiments/hoccl/ranks_as.h"
#include "experiments/hoccl/recorded_run.h"
#include "experiments/hoccl/recorded_trace.h"
#include "experiments/hoccl/report.h"
#include "experiments/hoccl/resolve.h"
#include "experiments/hoccl/run_head.h"
#include "experiments/hoccl/traffic_options.h"
#include "hw/bootstrap/bootstrap.h"
#include "hw/bootstrap/launch.h"
#include "hw/bootstrap/launcher.h"
#include "hw/bootstrap/thread_ranks.h"
#include "hw/fabric/hw_fabric.h"
#include "hw/run/host_description.h"
#include "hw/run/measurement.h"
#include "hw/run/scenario.h"

namespace hoccl::cli {
namespace {

using engine::Bytes;
using engine::ConfigError;
using engine::RunResult;
using engine::Seconds;

/// More local processes than this are started only when asked for by number.
constexpr int kMostRanksUnasked = 64;

/// Wherever this is read, all of it has been checked.
struct Job {
  std::string pattern;  ///< its name
  hw::RunScenario scenario;
  std::vector<Bytes> sizes;
};

/// "0,1": numbers with commas.
std::vector<int> parse_devices(const std::string& text) {
  constexpr int kMostDevices = 1024;
  std::vector<int> devices;
  std::stringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    devices.push_back(parse_integer<int>("--devices", part, 0, kMostDevices));
  }
  return devices;
}

hw::HwOptions hardware_options(const RunOptions& options, const Work& work) {
  const MeasureOptions& measure = options.measure;
  hw::HwOptions hardware;
  hardware.copy = hw::parse_copy_kind(measure.copy);
  hardware.link = hw::parse_link_kind(measure.link);
  hardware.slots = options.work.slots;
  hardware.slot_size = work.plan ? work.plan->chunk_size : options.work.pattern.chunk;
  hardware.link_rate = measure.link_rate;
  hardware.link_delay = measure.link_delay.value_or(Seconds(0.0));
  hardware.gates = hw::parse_gate_kind(measure.gates);
  hardware.strict = measure.strict;
  hardware.devices = parse_devices(measure.devices);
  hardware.verbs = measure.verbs;
  hw::require_available(hardware.copy);
  hw::require_available(hardware.link, hardware.verbs);
  if (hardware.copy != hw::CopyKind::kCuda && (measure.strict || measure.prove)) {
    throw ConfigError(fmt::format("{} with --copy = '{}': expected --copy cuda",
                                  measure.strict ? "--strict" : "--prove", measure.copy));
  }
  const bool shaped = measure.link_rate || measure.link_delay;
  if (shaped && hardware.link == hw::LinkKind::kLoopbackMap) {
    throw ConfigError(fmt::format("{} with --link = '{}': expected --link loopback",
                                  measure.link_rate ? "--link-rate" : "--link-delay",
                                  measure.link));
  }
  return hardware;
}

/// A GPU has one engine for each direction between host and device (measured on an H200), so a
/// stream each is enough, and what keeps it busy are batches: one that runs and one behind it.
RunOptions with_defaults_of(RunOptions options) {
  const bool hands_over = options.measure.link == hw::to_string(hw::LinkKind::kLoopbackMap);
  if (hands_over && !options.work.pattern.given.contains("--nodes-per-stage-in")) {
    options.work.pattern.nodes_per_stage_in = 1;  // a slot that changes its owner goes to one node
  }
  if (options.measure.copy != hw::to_string(hw::CopyKind::kCuda)) return options;
  constexpr int kStreams = 1;
  constexpr int kQuantum = 16;
  constexpr int kSlots = 48;
  const auto is_default = [&](const char* option) {
    return !options.work.pattern.given.contains(option);
  };
  if (is_default("--streams")) options.work.pipeline.streams = kStreams;
  if (is_default("--quantum")) options.work.pipeline.quantum = kQuantum;
  if (is_default("--slots")) options.work.slots = kSlots;
  return options;
}

Job resolve_job(const RunOptions& given) {
  const RunOptions options = with_defaults_of(given);
  Work work = resolve_work(options.work, options.work.slots);
  require_one_size(options.output.trace_file, work.sizes);
  std::vector<NamedFile> inputs = input_files(options.work.pattern);
  inputs.push_back({"--plan", options.work.plan_file});
  require_different_files(files_of(options.output), inputs);
  const hw::HwOptions hardware = hardware_options(options, work);
  const PatternOptions& pattern = options.work.pattern;
  Job job{.pattern = work.pattern,
          .scenario = {.topology = std::move(work.topology),
                       .traffic = std::move(work.traffic),
                       .compile = compile_options(pattern),
                       .plan = std::move(work.plan),
                       .pipeline = options.work.pipeline,
                       .hardware = hardware,
                       .one_process = ranks_are_threads("--ranks-as", options.measure.ranks_as),
                       .warmup = options.measure.warmup,
                       .iterations = options.measure.iterations,
                       .rounds = options.measure.rounds,
                       .check = options.measure.check,
                       .legs = !options.output.json_file.empty(),
                       .seed = pattern.seed},
          .sizes = std::move(work.sizes)};
  hw::require_runnable(job.scenario, job.sizes);
  return job;
}

/// The job's size decides how many ranks there are.
Job resolve_launched_job(RunOptions options, int size) {
  std::optional<int>& ranks = options.work.pattern.ranks;
  if (ranks && *ranks != size) {
    throw ConfigError(
        fmt::format("--ranks = '{}': expected {}, the processes of the job", *ranks, size));
  }
  ranks = size;
  Job job = resolve_job(options);
  if (job.scenario.topology.rank_count() != size) {
    throw ConfigError(
        fmt::format("--plan = '{}': is for {} ranks; expected {}, the processes of "
                    "the job",
                    options.work.plan_file, job.scenario.topology.rank_count(), size));
  }
  return job;
}

/// A rank without a part in the pattern waits at the end of a round for those with one: longer than
/// their own timeouts, and as long as a round takes on a crowded machine or a slow link.
hw::BootstrapOptions bootstrap_options(const hw::RunScenario& scenario, Bytes largest) {
  constexpr engine::BytesPerSecond kSlowest(20e6);
  const engine::BytesPerSecond link = scenario.hardware.link_rate.value_or(kSlowest);
  const int operations = std::max(scenario.warmup, scenario.iterations.value_or(1));
  hw::BootstrapOptions options;
  options.exchange_timeout = std::max(options.exchange_timeout, 2 * scenario.pipeline.timeout) +
                             largest / std::min(kSlowest, link * 0.5) * operations;
  return options;
}

void require_same_job(hw::Bootstrap& bootstrap, const RunOptions& options, const Job& job) {
  require_agreement(bootstrap, "command line",
                    fmt::format("hoccl {}", fmt::join(options.words, " ")));
  // Files may differ where names do not.
  const std::optional<engine::Plan> from_file = plan_of_file(job.scenario);
  if (!from_file) return;
  const std::string plan = engine::plan_to_json(*from_file);
  require_agreement(bootstrap, "plan", fmt::format("hash {:016x}", std::hash<std::string>{}(plan)));
}

std::string describe_machine(const hw::HwFabric& fabric) {
  const std::string link = fabric.link_description();
  return link.empty() ? fabric.device_description()
                      : fmt::format("{}; {}", fabric.device_description(), link);
}

/// Files and table are rank 0's.
class Printer {
 public:
  Printer(const RunOptions& options, const Job& job, const std::string& device)
      : options_(options),
        job_(job),
        head_(make_run_head(options.words, job.pattern, job.scenario, device)),
        outputs_(open_outputs(options.output)) {
    fmt::print("{}", table_head(head_));
  }

  void add(const RunResult& result) {
    results_.push_back(result);
    fmt::print("{}", table_row(result));
    std::fflush(stdout);
  }

  static void add(const hw::ZeroSmVerdict& verdict) {
    fmt::print("# one more operation, its copies posted one by one:\n{}", to_string(verdict));
    std::fflush(stdout);
  }

  void write(std::span<const engine::TraceEvent> trace) {
    if (outputs_.csv) {
      write_csv(outputs_.csv->stream(), head_, results_);
      outputs_.csv->commit();
    }
    if (outputs_.json) {
      // A trace is of one size, so of the one result.
      std::vector<nlohmann::ordered_json> more_of_rows;
      if (!trace.empty()) more_of_rows.push_back({{"trace", recorded_trace(trace)}});
      write_json(outputs_.json->stream(), head_,
                 {{"parameters", recorded_parameters(job_.scenario)}}, results_, more_of_rows);
      outputs_.json->commit();
    }
    if (outputs_.trace) {
      write_trace(outputs_.trace->stream(), options_.output.trace_file, trace);
      outputs_.trace->commit();
    }
  }

 private:
  const RunOptions& options_;
  const Job& job_;
  ReportHead head_;
  Outputs outputs_;
  std::vector<RunResult> results_;
};

void run_rank(const RunOptions& options, const hw::Launch& launch) {
  const Job job = resolve_launched_job(options, launch.size);
  std::optional<Printer> printer;
  auto bootstrap =
      hw::Bootstrap::connect(launch, bootstrap_options(job.scenario, std::ranges::max(job.sizes)));
  require_same_job(*bootstrap, options, job);
  hw::HwFabric fabric(std::move(bootstrap), job.scenario.topology, job.scenario.hardware);
  hw::Measurement measurement(fabric, job.scenario, std::ranges::max(job.sizes));
  if (launch.rank == engine::Rank(0)) printer.emplace(options, job, describe_machine(fabric));
  std::vector<engine::TraceEvent> trace;
  std::vector<engine::TraceEvent>* sink = options.output.trace_file.empty() ? nullptr : &trace;
  for (const Bytes size : job.sizes) {
    const RunResult result = measurement.measure(size, sink);
    if (printer) printer->add(result);
    if (!options.measure.prove) continue;
    const hw::ZeroSmVerdict verdict = measurement.prove();
    if (printer) printer->add(verdict);
    if (options.measure.strict && !verdict.holds()) {
      throw hw::RunFailed(
          fmt::format("size {}: SMs were used, see the verdict", engine::to_string(size)));
    }
  }
  measurement.finish();
  if (printer) printer->write(trace);
}

/// A rank as a thread of this process. Returns its exit code.
int run_thread_rank(const RunOptions& options, const hw::Launch& launch) {
  try {
    run_rank(options, launch);
    return 0;
  } catch (const std::exception& error) {
    const bool bad_input = dynamic_cast<const ConfigError*>(&error) != nullptr;
    fmt::print(stderr, "hoccl: rank {}: {}\n", launch.rank, error.what());
    return bad_input ? 2 : 1;
  }
}

/// Memory of all ranks is this machine's: better refused than killed half-way.
void require_memory(const Job& job) {
  const Bytes needed = hw::memory_of_all_ranks(job.scenario, std::ranges::max(job.sizes));
  const Bytes available = hw::available_memory();
  if (needed <= available) return;
  throw ConfigError(fmt::format(
      "--end = '{}': {} ranks need {:.1f} GiB; expected no more than the {:.1f} GiB available",
      engine::to_string(std::ranges::max(job.sizes)), job.scenario.topology.rank_count(),
      static_cast<double>(needed.count()) / 0x1p30,
      static_cast<double>(available.count()) / 0x1p30));
}

/// A process has 32 queues of a GPU's hardware; streams beyond share them, and one that waits at a
/// gate would hold up another rank's copies for good.
void require_queues(const Job& job) {
  constexpr int kQueues = 32;
  if (job.scenario.hardware.copy != hw::CopyKind::kCuda) return;
  const int ranks = job.scenario.topology.rank_count();
  const int streams = ranks * (1 + 2 * job.scenario.pipeline.streams);
  if (streams <= kQueues) return;
  throw ConfigError(fmt::format(
      "--ranks-as threads with {} ranks and --streams {}: {} streams of one process; expected at "
      "most {}, the GPU's queues for it (--ranks-as processes has no such limit)",
      ranks, job.scenario.pipeline.streams, streams, kQueues));
}

int run_alone(const RunOptions& options) {
  const Job job = resolve_job(options);
  const int ranks = job.scenario.topology.rank_count();
  if (ranks > kMostRanksUnasked && !options.work.pattern.ranks && !job.scenario.plan) {
    throw ConfigError(
        fmt::format("topology = '{}': has {} ranks, each a process; expected --ranks "
                    "N for more than {}",
                    job.scenario.topology.name(), ranks, kMostRanksUnasked));
  }
  require_memory(job);
  open_outputs(options.output);  // rank 0 opens them again
  if (ranks_are_threads("--ranks-as", options.measure.ranks_as)) {
    require_queues(job);
    return hw::run_thread_ranks(
        ranks, [&](const hw::Launch& launch) { return run_thread_rank(options, launch); });
  }
  return hw::launch_local_ranks(ranks, options.words);
}

}  // namespace

int run_run(const RunOptions& options) {
  const std::optional<hw::Launch> launch = hw::read_launch_environment();
  if (!launch) return run_alone(options);
  run_rank(options, *launch);
  return 0;
}

}  // namespace hoccl::cli
