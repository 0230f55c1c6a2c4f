#include "experiments/hoccl/run_head.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

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

using Settings = std::vector<std::pair<std::string, std::string>>;

Settings settings_of(const hw::RunScenario& scenario) {
  const bool is_pair = !scenario.plan && scenario.pattern == "sendrecv";
  const auto rank = [is_pair](engine::Rank of) {
    return is_pair ? std::to_string(of.value()) : std::string();
  };
  return {{"ranks", std::to_string(scenario.topology.rank_count())},
          {"from", rank(scenario.source)},
          {"to", rank(scenario.target)},
          {"chunk_bytes", std::to_string(scenario.hardware.slot_size.count())},
          {"slots", std::to_string(scenario.hardware.slots)},
          {"qps", std::to_string(scenario.pipeline.queue_pairs)},
          {"streams", std::to_string(scenario.pipeline.streams)},
          {"warmup", std::to_string(scenario.warmup)}};
}

}  // namespace

ReportHead make_run_head(const std::vector<std::string>& words, const hw::RunScenario& scenario) {
  const hw::HostDescription description = hw::describe_host();
  const std::string host =
      fmt::format("{}, {}, {}", description.cpu, cores_of(description), description.kernel);
  const hw::HwOptions& hardware = scenario.hardware;
  const std::string copy(to_string(hardware.copy));
  const std::string link(to_string(hardware.link));
  const std::string rate = hardware.link_rate ? engine::to_string(*hardware.link_rate) : "";
  const std::string delay = engine::to_string(hardware.link_delay);
  ReportHead head;
  head.kind = ReportKind::kMeasured;
  head.command = fmt::format("hoccl {}", fmt::join(words, " "));
  head.pattern = scenario.pattern;
  head.system = "hoccl";
  head.topology = scenario.topology.name();
  head.ranks = scenario.topology.rank_count();
  head.seed = scenario.seed;
  head.warmup = scenario.warmup;
  head.notes = {
      fmt::format("on {}×{} (link rate {}, delay {}): {}", copy, link,
                  rate.empty() ? "unlimited" : rate, delay, host),
      scenario.rounds == 1
          ? std::string("time: one round of back-to-back operations, n in all; so no spread")
          : fmt::format("time: median of {} rounds of back-to-back operations, n in all; spread: "
                        "(slowest - fastest) / median",
                        scenario.rounds),
      bound_note(hardware)};
  if (scenario.check) {
    head.notes.emplace_back("one more operation per size: every received byte is checked");
  }
  head.conditions = {
      {"copy", copy}, {"link", link}, {"link_rate", rate}, {"link_delay", delay}, {"host", host}};
  head.settings = settings_of(scenario);
  return head;
}

}  // namespace hoccl::cli
