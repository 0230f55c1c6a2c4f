#include "experiments/hoccl/recorded_run.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/base/config_error.h"
#include "engine/schedule/plan_json.h"
#include "engine/schedule/strict_json.h"
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
  pipeline.timeout = get_quantity(object, "timeout", engine::parse_seconds);
  object.finish();
  return pipeline;
}

void read_hardware(StrictJson object, hw::HwOptions& hardware) {
  hardware.copy = hw::parse_copy_kind(object.get_string("copy"));
  hardware.link = hw::parse_link_kind(object.get_string("link"));
  hardware.slots = get_int(object, "slots", 1);
  if (object.has("link_rate")) {
    hardware.link_rate = get_quantity(object, "link_rate", engine::parse_rate);
  }
  hardware.link_delay = get_quantity(object, "link_delay", engine::parse_seconds);
  object.finish();
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
  scenario.pattern = parameters.get_string("pattern");
  scenario.source = engine::Rank(get_int(parameters, "from", 0));
  scenario.target = engine::Rank(get_int(parameters, "to", 0));
  scenario.compile.rails = get_int(parameters, "rails", 1);
  scenario.compile.chunk_size =
      Bytes(parameters.get_integer("chunk_bytes", 1, engine::kMaxChunkSize.count()));
  scenario.compile.forwarding = engine::parse_forwarding(parameters.get_string("forwarding"));
  if (parameters.has("plan")) {
    scenario.plan = engine::plan_from_json(parameters.get_object("plan").dump(), file);
  }
  scenario.pipeline =
      read_pipeline({parameters.get_object("pipeline"), file, "parameters.pipeline"});
  read_hardware({parameters.get_object("hardware"), file, "parameters.hardware"},
                scenario.hardware);
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

nlohmann::ordered_json recorded_parameters(const hw::RunScenario& scenario) {
  const engine::PipelineOptions& pipeline = scenario.pipeline;
  const hw::HwOptions& hardware = scenario.hardware;
  nlohmann::ordered_json parameters = {{"topology", scenario.topology.name()},
                                       {"ranks", scenario.topology.rank_count()},
                                       {"pattern", scenario.pattern},
                                       {"from", scenario.source.value()},
                                       {"to", scenario.target.value()},
                                       {"rails", scenario.compile.rails},
                                       {"chunk_bytes", scenario.compile.chunk_size.count()},
                                       {"forwarding", to_string(scenario.compile.forwarding)},
                                       {"pipeline",
                                        {{"streams", pipeline.streams},
                                         {"quantum", pipeline.quantum},
                                         {"queue_pairs", pipeline.queue_pairs},
                                         {"queue_depth", pipeline.queue_depth},
                                         {"nic_depth", pipeline.nic_depth},
                                         {"batch", pipeline.batch},
                                         {"timeout", engine::to_string(pipeline.timeout)}}},
                                       {"hardware",
                                        {{"copy", to_string(hardware.copy)},
                                         {"link", to_string(hardware.link)},
                                         {"slots", hardware.slots},
                                         {"link_delay", engine::to_string(hardware.link_delay)}}}};
  if (hardware.link_rate) {
    parameters["hardware"]["link_rate"] = engine::to_string(*hardware.link_rate);
  }
  if (scenario.plan) {
    parameters["plan"] = nlohmann::ordered_json::parse(engine::plan_to_json(*scenario.plan));
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
                  .results = {}};
  const nlohmann::json& results = top.get_array("results");
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::string path = fmt::format("results[{}]", i);
    run.results.push_back(read_result({results[i], file, path}, file, path));
  }
  if (run.results.empty()) top.fail("results", "at least one size");
  return run;
}

}  // namespace hoccl::cli
