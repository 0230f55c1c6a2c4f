#include "experiments/hoccl/recorded_run.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/base/config_error.h"
#include "engine/base/strict_json.h"
#include "engine/schedule/plan_json.h"
#include "experiments/hoccl/option_reader.h"
#include "experiments/hoccl/ranks_as.h"
#include "experiments/hoccl/recorded_trace.h"
#include "experiments/hoccl/resolve.h"

namespace hoccl::cli {

using engine::Bytes;
using engine::ConfigError;
using engine::RunResult;
using engine::Seconds;
using engine::StrictJson;

namespace {

constexpr int kSchema = 1;
constexpr int kAny = std::numeric_limits<int>::max();
/// Above any time that anybody waited for.
constexpr double kMostMicroseconds = 1e12;

int get_int(StrictJson& object, std::string_view key, int low) {
  return static_cast<int>(object.get_integer(key, low, kAny));
}

bool get_yes_or_no(StrictJson& object, std::string_view key) {
  const std::string text = object.get_string(key);
  if (text != "yes" && text != "no") object.fail(key, "\"yes\" or \"no\"");
  return text == "yes";
}
std::string yes_or_no(bool value) { return value ? "yes" : "no"; }

Seconds get_time(StrictJson& object, std::string_view key) {
  return Seconds(object.get_number(key, 0.0, kMostMicroseconds) * 1e-6);
}

/// `parser` of units.h on a text.
template <class Quantity>
Quantity get_quantity(StrictJson& object, std::string_view key,
                      Quantity (*parser)(std::string_view)) {
  try {
    return parser(object.get_string(key));
  } catch (const ConfigError&) {
    object.fail(key, "a quantity with its unit");
  }
}

engine::PipelineOptions read_pipeline(StrictJson object) {
  engine::PipelineOptions pipeline;
  pipeline.streams = get_int(object, "streams", 1);
  pipeline.quantum = get_int(object, "quantum", 1);
  pipeline.queue_pairs = get_int(object, "queue_pairs", 1);
  pipeline.queue_depth = get_int(object, "queue_depth", 1);
  pipeline.nic_depth = get_int(object, "nic_depth", 1);
  pipeline.batch = get_int(object, "batch", 0);
  pipeline.barrier = get_yes_or_no(object, "barrier");
  pipeline.overlap = get_yes_or_no(object, "overlap");
  pipeline.interleave = get_yes_or_no(object, "interleave");
  pipeline.slack_fill = get_yes_or_no(object, "slack_fill");
  pipeline.timeout = get_quantity(object, "timeout", engine::parse_seconds);
  object.finish();
  return pipeline;
}

void read_hardware(StrictJson object, hw::RunScenario& scenario) {
  hw::HwOptions& hardware = scenario.hardware;
  scenario.one_process = ranks_are_threads("ranks_as", object.get_string("ranks_as"));
  hardware.copy = hw::parse_copy_kind(object.get_string("copy"));
  hardware.link = hw::parse_link_kind(object.get_string("link"));
  hardware.slots = get_int(object, "slots", 1);
  if (object.has("link_rate")) {
    hardware.link_rate = get_quantity(object, "link_rate", engine::parse_rate);
  }
  hardware.link_delay = get_quantity(object, "link_delay", engine::parse_seconds);
  object.finish();
}

engine::PatternRequest read_request(StrictJson object) {
  engine::PatternRequest request;
  request.name = object.get_string("name");
  request.source = engine::Rank(get_int(object, "from", 0));
  request.target = engine::Rank(get_int(object, "to", 0));
  request.root = engine::Rank(get_int(object, "root", 0));
  request.in_place = get_yes_or_no(object, "in_place");
  request.matrix = engine::parse_matrix_kind(object.get_string("matrix"));
  // As text: it may be above what a whole number holds here.
  request.seed = parse_integer<std::uint64_t>("seed", object.get_string("seed"), 0,
                                              std::numeric_limits<std::uint64_t>::max());
  for (const std::int64_t rank : object.get_integers("group", 0, engine::kMaxRanks)) {
    request.group.emplace_back(rank);
  }
  object.finish();
  return request;
}

engine::CompileOptions read_compile(StrictJson object) {
  engine::CompileOptions compile;
  compile.chunk_size = Bytes(object.get_integer("chunk_bytes", 1, engine::kMaxChunkSize.count()));
  compile.rails = get_int(object, "rails", 0);
  compile.forwarding = engine::parse_forwarding(object.get_string("forwarding"));
  compile.order = engine::parse_order(object.get_string("order"));
  compile.algorithm = engine::parse_algorithm(object.get_string("algorithm"));
  compile.nics = get_int(object, "nics", 1);
  compile.quantise = object.get_number("quantise", 0.0, 1.0);
  compile.nodes_per_stage_in = get_int(object, "nodes_per_stage_in", 1);
  object.finish();
  return compile;
}

engine::Topology find_topology(StrictJson& parameters, const std::string& file,
                               const std::string& topology) {
  const std::string name = parameters.get_string("topology");
  const int ranks = get_int(parameters, "ranks", 1);
  return topology_named(name, file, topology).with_ranks(ranks);
}

hw::RunScenario read_parameters(const nlohmann::json& json, const std::string& file,
                                const std::string& topology) {
  StrictJson parameters(json, file, "parameters");
  hw::RunScenario scenario{.topology = find_topology(parameters, file, topology)};
  scenario.traffic.request =
      read_request({parameters.get_object("pattern"), file, "parameters.pattern"});
  scenario.compile = read_compile({parameters.get_object("compile"), file, "parameters.compile"});
  if (parameters.has("plan")) {
    scenario.plan = engine::plan_from_json(parameters.get_object("plan").dump(), file);
  }
  scenario.pipeline =
      read_pipeline({parameters.get_object("pipeline"), file, "parameters.pipeline"});
  read_hardware({parameters.get_object("hardware"), file, "parameters.hardware"}, scenario);
  parameters.finish();
  return scenario;
}

engine::LegTimes read_legs(StrictJson object, const std::string& file, const std::string& path) {
  engine::LegTimes legs;
  for (std::size_t i = 0; i < legs.size(); ++i) {
    if (!object.has(engine::kLegNames[i])) continue;
    StrictJson leg(object.get_object(engine::kLegNames[i]), file,
                   fmt::format("{}.{}", path, engine::kLegNames[i]));
    legs[i].count = leg.get_integer("count", 1, std::numeric_limits<std::int64_t>::max());
    legs[i].busy = get_time(leg, "busy_us");
    leg.finish();
  }
  object.finish();
  return legs;
}

RunResult read_result(StrictJson object, const std::string& file, const std::string& path) {
  RunResult result;
  result.size = Bytes(object.get_integer("size_bytes", 1, engine::kMaxMessageSize.count()));
  result.time = get_time(object, "time_us");
  if (result.time <= Seconds(0.0)) object.fail("time_us", "a time above zero");
  result.rounds = engine::Rounds{.count = get_int(object, "rounds", 1),
                                 .iterations = get_int(object, "iterations", 1),
                                 .fastest = get_time(object, "min_us"),
                                 .slowest = get_time(object, "max_us")};
  result.launch = get_time(object, "launch_us");
  result.submit = get_time(object, "submit_us");
  result.proxy = get_time(object, "proxy_us");
  const std::string legs = path + ".legs";
  result.legs = read_legs({object.get_object("legs"), file, legs}, file, legs);
  return result;  // the other numbers of a row are for people
}

std::string read_file(const std::string& file) {
  std::error_code error;
  std::ifstream in(file, std::ios::binary);
  if (!in || std::filesystem::is_directory(file, error)) {
    throw ConfigError(
        fmt::format("'{}' cannot be read: expected a file that 'hoccl run --json' wrote", file));
  }
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace

std::optional<engine::Plan> plan_of_file(const hw::RunScenario& scenario) {
  if (scenario.plan) return scenario.plan;
  if (!scenario.traffic.has_own_size()) return std::nullopt;
  return engine::compile(pattern_of(scenario, Bytes(0)), scenario.topology, scenario.compile);
}

namespace {

nlohmann::ordered_json recorded_request(const engine::PatternRequest& request) {
  nlohmann::ordered_json group = nlohmann::ordered_json::array();
  for (const engine::Rank rank : request.group) group.push_back(rank.value());
  return {{"name", request.name},
          {"from", request.source.value()},
          {"to", request.target.value()},
          {"root", request.root.value()},
          {"in_place", yes_or_no(request.in_place)},
          {"matrix", to_string(request.matrix)},
          {"seed", std::to_string(request.seed)},
          {"group", group}};
}

nlohmann::ordered_json recorded_compile(const engine::CompileOptions& compile) {
  return {{"chunk_bytes", compile.chunk_size.count()},
          {"rails", compile.rails},
          {"forwarding", to_string(compile.forwarding)},
          {"order", to_string(compile.order)},
          {"algorithm", to_string(compile.algorithm)},
          {"nics", compile.nics},
          {"quantise", compile.quantise},
          {"nodes_per_stage_in", compile.nodes_per_stage_in}};
}

}  // namespace

nlohmann::ordered_json recorded_parameters(const hw::RunScenario& scenario) {
  const engine::PipelineOptions& pipeline = scenario.pipeline;
  const hw::HwOptions& hardware = scenario.hardware;
  nlohmann::ordered_json parameters = {{"topology", scenario.topology.name()},
                                       {"ranks", scenario.topology.rank_count()},
                                       {"pattern", recorded_request(scenario.traffic.request)},
                                       {"compile", recorded_compile(scenario.compile)},
                                       {"pipeline",
                                        {{"streams", pipeline.streams},
                                         {"quantum", pipeline.quantum},
                                         {"queue_pairs", pipeline.queue_pairs},
                                         {"queue_depth", pipeline.queue_depth},
                                         {"nic_depth", pipeline.nic_depth},
                                         {"batch", pipeline.batch},
                                         {"barrier", yes_or_no(pipeline.barrier)},
                                         {"overlap", yes_or_no(pipeline.overlap)},
                                         {"interleave", yes_or_no(pipeline.interleave)},
                                         {"slack_fill", yes_or_no(pipeline.slack_fill)},
                                         {"timeout", engine::to_string(pipeline.timeout)}}},
                                       {"hardware",
                                        {{"ranks_as", scenario.one_process ? kThreads : kProcesses},
                                         {"copy", to_string(hardware.copy)},
                                         {"link", to_string(hardware.link)},
                                         {"slots", hardware.slots},
                                         {"link_delay", engine::to_string(hardware.link_delay)}}}};
  if (hardware.link_rate) {
    parameters["hardware"]["link_rate"] = engine::to_string(*hardware.link_rate);
  }
  if (const auto plan = plan_of_file(scenario)) {
    parameters["plan"] = nlohmann::ordered_json::parse(engine::plan_to_json(*plan));
  }
  return parameters;
}

RecordedRun read_recorded_run(const std::string& file, const std::string& topology) {
  const nlohmann::json json = StrictJson::parse(read_file(file), file);
  StrictJson top(json, file, "");
  top.get_integer("schema", kSchema, kSchema);
  if (top.get_string("kind") != "measured") top.fail("kind", "\"measured\"");
  RecordedRun run{.command = top.get_string("command"),
                  .host = top.get_string("host"),
                  .scenario = read_parameters(top.get_object("parameters"), file, topology),
                  .results = {},
                  .traces = {}};
  const nlohmann::json& results = top.get_array("results");
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::string path = fmt::format("results[{}]", i);
    StrictJson result(results[i], file, path);
    run.results.push_back(read_result(result, file, path));
    std::vector<engine::TraceEvent>& trace = run.traces.emplace_back();
    if (!result.has("trace")) continue;
    trace = read_recorded_trace(result.get_object("trace"), file, path + ".trace",
                                run.scenario.topology.rank_count());
  }
  if (run.results.empty()) top.fail("results", "at least one size");
  return run;
}

}  // namespace hoccl::cli
