#include "experiments/hoccl/run_head.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "experiments/hoccl/traffic_options.h"
#include "hw/run/host_description.h"

namespace hoccl::cli {
namespace {

std::string bound_note(const hw::HwOptions& hardware) {
  if (!hardware.link_rate && hardware.link_delay == engine::Seconds(0.0)) {
    return "bound: none, because the rates of the topology are not those of this machine";
  }
  return "bound: the link alone, what the busiest NIC sends at its rate and then the delay; copies "
         "count as free";
}

/// What decides the plan.
Settings plan_settings_of(const hw::RunScenario& scenario) {
  return scenario.plan ? plan_settings(*scenario.plan, scenario.pipeline)
                       : traffic_settings(scenario.traffic, scenario.compile, scenario.pipeline);
}

Settings settings_of(const hw::RunScenario& scenario) {
  Settings settings = plan_settings_of(scenario);
  for (const auto& setting : Settings{{"ranks", std::to_string(scenario.topology.rank_count())},
                                      {"slots", std::to_string(scenario.hardware.slots)},
                                      {"qps", std::to_string(scenario.pipeline.queue_pairs)},
                                      {"streams", std::to_string(scenario.pipeline.streams)},
                                      {"warmup", std::to_string(scenario.warmup)}}) {
    settings.push_back(setting);
  }
  return settings;
}

}  // namespace

ReportHead make_run_head(const std::vector<std::string>& words, const std::string& pattern,
                         const hw::RunScenario& scenario, const std::string& device) {
  const hw::HostDescription description = hw::describe_host();
  const std::string host = fmt::format("{}; {}, {}, {}", device, description.cpu,
                                       cores_of(description), description.kernel);
  const hw::HwOptions& hardware = scenario.hardware;
  const std::string copy(to_string(hardware.copy));
  const std::string link(to_string(hardware.link));
  const std::string rate = hardware.link_rate ? engine::to_string(*hardware.link_rate) : "";
  const std::string delay = engine::to_string(hardware.link_delay);
  ReportHead head;
  head.kind = ReportKind::kMeasured;
  head.command = fmt::format("hoccl {}", fmt::join(words, " "));
  head.pattern = pattern;
  head.system = "hoccl";
  head.topology = scenario.topology.name();
  head.ranks = scenario.topology.rank_count();
  head.seed = scenario.seed;
  head.warmup = scenario.warmup;
  head.notes = {
      settings_note(plan_settings_of(scenario)),
      fmt::format("on {}×{} (link rate {}, delay {}): {}", copy, link,
                  rate.empty() ? "unlimited" : rate, delay, host),
      scenario.rounds == 1
          ? std::string("time: one round of back-to-back operations, n in all; so no spread")
          : fmt::format("time: median of {} rounds of back-to-back operations, n in all; spread: "
                        "(slowest - fastest) / median",
                        scenario.rounds),
      bound_note(hardware)};
  if (!scenario.plan && !size_note(scenario.traffic).empty()) {
    head.notes.push_back(size_note(scenario.traffic));
  }
  if (scenario.check) {
    head.notes.emplace_back("one more operation per size: every received byte is checked");
  }
  head.conditions = {
      {"copy", copy}, {"link", link}, {"link_rate", rate}, {"link_delay", delay}, {"host", host}};
  head.settings = settings_of(scenario);
  return head;
}

}  // namespace hoccl::cli
