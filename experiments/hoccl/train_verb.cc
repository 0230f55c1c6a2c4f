#include "experiments/hoccl/train_verb.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "engine/base/config_error.h"
#include "engine/trace/trace_recorder.h"
#include "experiments/hoccl/model.h"
#include "experiments/hoccl/output_file.h"
#include "experiments/hoccl/resolve.h"
#include "experiments/hoccl/traffic_options.h"
#include "experiments/hoccl/train_report.h"
#include "sim/run/scenario.h"
#include "sim/train/train.h"

namespace hoccl::cli {
namespace {

/// Whether a key of --set belongs to the model and not to the calibration.
bool is_of_model(std::string_view assignment) {
  constexpr std::array<std::string_view, 5> kGroups = {"model.", "layout.", "data_parallel.",
                                                       "sms.", "speed."};
  for (const std::string_view group : kGroups) {
    if (assignment.substr(0, group.size()) == group) return true;
  }
  return false;
}

void set_in_model(sim::TrainingSetup& setup, const std::string& assignment) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string::npos) {
    throw engine::ConfigError(fmt::format("--set {}: expected key=value", assignment));
  }
  sim::set_training_value(setup, assignment.substr(0, equals), assignment.substr(equals + 1));
}

/// What is not said of the layout follows from the number of ranks.
sim::TrainingSetup resolve_setup(const TrainOptions& options, int ranks) {
  sim::TrainingSetup setup = sim::resolve_training_setup(options.setup);
  for (const std::string& assignment : options.model.assignments) {
    if (is_of_model(assignment)) set_in_model(setup, assignment);
  }
  const auto set = [&setup](std::string_view key, const std::optional<int>& value) {
    if (value) sim::set_training_value(setup, key, std::to_string(*value));
  };
  set("layout.tensor", options.tensor);
  set("layout.pipeline", options.pipeline);
  set("layout.chunks", options.chunks);
  set("layout.expert", options.expert);
  set("layout.microbatch", options.microbatch);
  set("layout.microbatches", options.microbatches);
  set("layout.receive_ahead", options.receive_ahead);
  if (!options.order.empty()) sim::set_training_value(setup, "layout.order", options.order);
  if (!options.schedule.empty()) {
    sim::set_training_value(setup, "layout.schedule", options.schedule);
  }
  const bool says_data = std::ranges::any_of(options.model.assignments, [](std::string_view each) {
    return each.starts_with("layout.data=");
  });
  const int per_replica = setup.layout.tensor * setup.layout.pipeline;
  const int replicas = ranks % per_replica == 0 ? ranks / per_replica : setup.layout.data;
  if (options.data) {
    set("layout.data", options.data);
  } else if (!says_data && replicas != setup.layout.data) {
    set("layout.data", replicas);
  }
  return setup;
}

sim::TrainingScenario make_scenario(const TrainOptions& options) {
  engine::Topology topology = resolve_topology(options.work.pattern);
  ModelOptions model = options.model;
  std::erase_if(model.assignments, is_of_model);
  sim::Calibration calibration = resolve_calibration(model, topology);
  sim::TrainingSetup setup = resolve_setup(options, topology.rank_count());
  sim::TrainingScenario scenario{
      .topology = std::move(topology),
      .calibration = std::move(calibration),
      .setup = std::move(setup),
      .system = options.system,
      .contention = sim::parse_contention_kind(options.contention),
      .communication = options.communication,
      .priority_switch = options.priority_switch,
      .group_messages = options.group_messages,
      .dynamic_buffers = options.dynamic_buffers,
      .length_spread = options.length_spread,
      .busy_driver = options.busy_driver,
      .ideal_reduce = options.ideal_reduce,
      .compile = compile_options(options.work.pattern),
      .pipeline = options.work.pipeline,
      .slots = options.work.slots,
      .network = resolve_network(options.model.network),
      .seed = options.work.pattern.seed,
  };
  if (!options.pipelining) sim::switch_pipelining_off(scenario.pipeline, scenario.slots);
  return scenario;
}

void print_setup(const sim::TrainingSetup& setup) {
  fmt::print("# {}\n# {:<30} {:>12}  {:<6}  source\n", setup.name, "value of", "value", "kind");
  for (const auto& origin : setup.origins) {
    fmt::print("{:<32} {:>12}  {:<6}  {}\n", origin.key, origin.value, origin.kind, origin.source);
  }
}

std::vector<NamedFile> outputs_of(const TrainOptions& options) {
  std::vector<NamedFile> files = files_of(options.output);
  files.push_back({"--sm-timeline", options.sm_timeline_file});
  files.push_back({"--slack", options.slack_file});
  return files;
}

}  // namespace

void run_train(const TrainOptions& options) {
  const sim::TrainingScenario scenario = make_scenario(options);
  if (options.print_model) {
    print_setup(scenario.setup);
    return;
  }
  sim::require_trainable(scenario);
  require_different_files(outputs_of(options),
                          {preset_or_file("--model", options.setup),
                           preset_or_file("--calibration", options.model.calibration)});
  Outputs outputs = open_outputs(options.output);
  const auto sms = open_output("--sm-timeline", options.sm_timeline_file);
  const auto slack = open_output("--slack", options.slack_file);

  engine::TraceRecorder recorder;
  const sim::TrainingResult result = sim::train(
      scenario, {.trace = outputs.trace ? &recorder : nullptr, .sm_timeline = sms != nullptr});
  const TrainHead head{
      .command = options.command,
      .calibration = describe_calibration(options.model, scenario.calibration),
      .notes = {fmt::format("network {}, calibration {} ({:016x}), seed {}",
                            to_string(scenario.network),
                            describe_calibration(options.model, scenario.calibration),
                            scenario.calibration.hash(), scenario.seed)}};
  const TrainColumns columns = train_columns(with_kernels_of_system(scenario), head, result);
  if (outputs.csv) {
    write_train_csv(outputs.csv->stream(), columns);
    outputs.csv->commit();
  }
  if (outputs.json) {
    write_train_json(outputs.json->stream(), columns);
    outputs.json->commit();
  }
  if (outputs.trace) {
    write_trace(outputs.trace->stream(), options.output.trace_file, recorder.events());
    outputs.trace->commit();
  }
  if (sms) {
    write_sm_timeline(sms->stream(), result);
    sms->commit();
  }
  if (slack) {
    write_slack(slack->stream(), result);
    slack->commit();
  }
  fmt::print("{}", train_table(scenario, head, result));
}

}  // namespace hoccl::cli
