#include "experiments/hoccl/train_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>

namespace hoccl::cli {
namespace {

using engine::Seconds;
using sim::TrafficClass;
using sim::TrainingResult;
using sim::TrainingScenario;

double milliseconds(Seconds time) { return 1e3 * time.count(); }

std::string number(double value) { return fmt::format("{:.6g}", value); }

/// The smallest slack that at least `percent` of the kernels have no more than.
Seconds slack_at(const TrainingResult& result, double percent) {
  if (result.slack.empty()) return Seconds(0.0);
  const auto last = static_cast<double>(result.slack.size() - 1);
  return result.slack[static_cast<std::size_t>(std::lround(last * percent / 100.0))];
}

std::string on_off(bool value) { return value ? "on" : "off"; }

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  return '"' + text + '"';
}

void add_scenario(const TrainingScenario& scenario, const TrainHead& head, TrainColumns& columns) {
  const sim::ParallelLayout& layout = scenario.setup.layout;
  const auto add = [&columns](std::string name, auto value) {
    columns.emplace_back(std::move(name), fmt::format("{}", value));
  };
  add("model", scenario.setup.name);
  add("system", scenario.system);
  add("topology", scenario.topology.name());
  add("tp", layout.tensor);
  add("pp", layout.pipeline);
  add("vpp", layout.chunks);
  add("dp", layout.data);
  add("ep", layout.expert);
  add("mbs", layout.microbatch);
  add("microbatches", layout.microbatches);
  add("schedule", to_string(layout.schedule));
  add("order", to_string(layout.order));
  add("receive_ahead", layout.receive_ahead);
  add("tp_sms", scenario.setup.sms.tensor);
  add("pp_sms", scenario.setup.sms.pipeline);
  add("dp_sms", scenario.setup.sms.data);
  add("contention", to_string(scenario.contention));
  add("communication", on_off(scenario.communication));
  add("priority_switch", on_off(scenario.priority_switch));
  add("group_messages", on_off(scenario.group_messages));
  add("dynamic_buffers", on_off(scenario.dynamic_buffers));
  add("busy_driver_pct", 100.0 * scenario.busy_driver);
  add("length_spread_pct", 100.0 * scenario.length_spread);
  add("ideal_reduce", on_off(scenario.ideal_reduce));
  add("forwarding", to_string(scenario.compile.forwarding));
  add("network", to_string(scenario.network));
  add("chunk_bytes", scenario.compile.chunk_size.count());
  add("rails", scenario.compile.rails);
  add("slots", scenario.slots);
  add("qps", scenario.pipeline.queue_pairs);
  add("streams", scenario.pipeline.streams);
  add("quantum", scenario.pipeline.quantum);
  add("batch", scenario.pipeline.batch);
  add("overlap", on_off(scenario.pipeline.overlap));
  add("calibration", head.calibration);
  add("calibration_hash", fmt::format("{:016x}", scenario.calibration.hash()));
  add("seed", scenario.seed);
}

void add_classes(const TrainingResult& result, TrainColumns& columns) {
  const auto add = [&columns](std::string name, double value) {
    columns.emplace_back(std::move(name), number(value));
  };
  const std::array classes = {TrafficClass::kTensor, TrafficClass::kPipeline, TrafficClass::kData,
                              TrafficClass::kExpert};
  for (const TrafficClass traffic : classes) {
    const auto index = static_cast<std::size_t>(traffic);
    add(fmt::format("contention_{}_pct", to_string(traffic)), 100.0 * result.contention[index]);
    add(fmt::format("peak_{}_sms", to_string(traffic)), result.peak_sms[index]);
    // Operations of the others are on the compute stream: nothing waits for them beside.
    if (traffic == TrafficClass::kPipeline || traffic == TrafficClass::kData) {
      add(fmt::format("exposed_{}_ms", to_string(traffic)), milliseconds(result.exposed[index]));
    }
    add(fmt::format("operation_{}_ms", to_string(traffic)), milliseconds(result.operation[index]));
    add(fmt::format("longest_{}_ms", to_string(traffic)),
        milliseconds(result.longest_operation[index]));
  }
}

}  // namespace

TrainColumns train_columns(const TrainingScenario& scenario, const TrainHead& head,
                           const TrainingResult& result) {
  TrainColumns columns;
  add_scenario(scenario, head, columns);
  const auto add = [&columns](std::string name, double value) {
    columns.emplace_back(std::move(name), number(value));
  };
  add("step_ms", milliseconds(result.step));
  add("bound_pct", 100.0 * (result.bound / result.step));
  add("tokens_per_s", result.tokens_per_second);
  add("tflops_per_gpu", result.tflops_per_gpu);
  add("bubble_pct", 100.0 * result.bubble);
  add("forward_ms", milliseconds(result.forward));
  add("backward_ms", milliseconds(result.backward));
  add("compute_ms", milliseconds(result.compute));
  add("compute_alone_ms", milliseconds(result.compute_alone));
  add("isum_pct", 100.0 * result.isum);
  add("isum_forward_pct", 100.0 * result.isum_forward);
  add("isum_backward_pct", 100.0 * result.isum_backward);
  add("overlapped_sms", result.overlapped_sms);
  add_classes(result, columns);
  for (const int percent : {0, 5, 50, 95, 100}) {
    add(fmt::format("slack_p{}_ms", percent), milliseconds(slack_at(result, percent)));
  }
  add("launch_busy_pct", 100.0 * result.launch_busy);
  add("proxy_busy_pct", 100.0 * result.proxy_busy);
  add("registration_ms", milliseconds(result.registration));
  columns.emplace_back("command", head.command);
  add("activations_gb", static_cast<double>(result.memory.needed.count()) / 1e9);
  add("fragmentation_fixed_pct", 100.0 * result.memory.fixed);
  add("fragmentation_expandable_pct", 100.0 * result.memory.expandable);
  return columns;
}

void write_train_csv(std::ostream& stream, const TrainColumns& columns) {
  std::vector<std::string> names;
  std::vector<std::string> values;
  for (const auto& [name, value] : columns) {
    names.push_back(name);
    values.push_back(quoted(value));
  }
  stream << fmt::format("{}\n{}\n", fmt::join(names, ","), fmt::join(values, ","));
}

void write_train_json(std::ostream& stream, const TrainColumns& columns) {
  nlohmann::ordered_json json = {{"schema", 1}, {"kind", "simulated"}};
  for (const auto& [name, value] : columns) {
    // What reads as a number is one.
    const nlohmann::json parsed = nlohmann::json::parse(value, nullptr, false);
    json[name] =
        parsed.is_number() ? nlohmann::ordered_json(parsed) : nlohmann::ordered_json(value);
  }
  stream << json.dump(2) << '\n';
}

std::string train_table(const TrainingScenario& scenario, const TrainHead& head,
                        const TrainingResult& result) {
  const sim::ParallelLayout& layout = scenario.setup.layout;
  std::string text = fmt::format("# simulated: {} by {} on {}\n# {}\n", scenario.setup.name,
                                 scenario.system, scenario.topology.name(), head.command);
  for (const std::string& note : head.notes) text += fmt::format("# {}\n", note);
  text += fmt::format(
      "# {} GPUs: tensor {}, pipeline {} x {} chunks ({}), data {}, expert {}; {} micro-batches of "
      "{}\n",
      layout.ranks(), layout.tensor, layout.pipeline, layout.chunks, to_string(layout.schedule),
      layout.data, layout.expert, layout.microbatches, layout.microbatch);
  const auto line = [&text](std::string_view name, const std::string& value) {
    text += fmt::format("{:<34} {}\n", name, value);
  };
  line("step (ms)", fmt::format("{:.2f} (bound {:.1f}%)", milliseconds(result.step),
                                100.0 * (result.bound / result.step)));
  line("tokens per second", fmt::format("{:.0f}", result.tokens_per_second));
  line("TFLOP/s per GPU", fmt::format("{:.1f}", result.tflops_per_gpu));
  line("bubble (%)", fmt::format("{:.1f}", 100.0 * result.bubble));
  line("forward, backward pass (ms)",
       fmt::format("{:.2f}, {:.2f}", milliseconds(result.forward), milliseconds(result.backward)));
  const auto classes = [](const auto& values, auto format) {
    std::vector<std::string> parts;
    for (const TrafficClass traffic : {TrafficClass::kTensor, TrafficClass::kPipeline,
                                       TrafficClass::kData, TrafficClass::kExpert}) {
      parts.push_back(fmt::format("{} {}", to_string(traffic),
                                  format(values[static_cast<std::size_t>(traffic)])));
    }
    return fmt::format("{}", fmt::join(parts, ", "));
  };
  const auto percent = [](double share) { return fmt::format("{:.2f}", 100.0 * share); };
  const auto ms = [](Seconds time) { return fmt::format("{:.2f}", milliseconds(time)); };
  line("contention (% of SMs)",
       fmt::format("{}; Isum {:.2f} (forward {:.2f}, backward {:.2f})",
                   classes(result.contention, percent), 100.0 * result.isum,
                   100.0 * result.isum_forward, 100.0 * result.isum_backward));
  line("SMs of overlapped PP and DP", fmt::format("{:.1f}", result.overlapped_sms));
  line("waited for (ms)",
       fmt::format("pp {}, dp {}",
                   ms(result.exposed[static_cast<std::size_t>(TrafficClass::kPipeline)]),
                   ms(result.exposed[static_cast<std::size_t>(TrafficClass::kData)])));
  line("mean operation (ms)", classes(result.operation, ms));
  line("CPU slack, 5, 50, 95% (ms)",
       fmt::format("{:.1f}, {:.1f}, {:.1f}", milliseconds(slack_at(result, 5)),
                   milliseconds(slack_at(result, 50)), milliseconds(slack_at(result, 95))));
  line("busiest launching thread, proxy (%)",
       fmt::format("{:.1f}, {:.1f}", 100.0 * result.launch_busy, 100.0 * result.proxy_busy));
  line("activations (GB)",
       fmt::format("{:.1f}; fragmentation {:.1f}% in segments that NICs can register, {:.1f}% in "
                   "expandable ones",
                   static_cast<double>(result.memory.needed.count()) / 1e9,
                   100.0 * result.memory.fixed, 100.0 * result.memory.expandable));
  return text;
}

void write_sm_timeline(std::ostream& stream, const TrainingResult& result) {
  stream << "time_us,tp_sms,pp_sms,dp_sms,ep_sms\n";
  const auto held = [](const sim::SmSample& sample, TrafficClass traffic) {
    return sample.held[static_cast<std::size_t>(traffic)];
  };
  for (const sim::SmSample& sample : result.sms) {
    stream << fmt::format("{:.3f},{},{},{},{}\n", engine::microseconds(sample.time),
                          held(sample, TrafficClass::kTensor),
                          held(sample, TrafficClass::kPipeline), held(sample, TrafficClass::kData),
                          held(sample, TrafficClass::kExpert));
  }
}

void write_slack(std::ostream& stream, const TrainingResult& result) {
  stream << "percentile,slack_ms\n";
  for (int percent = 0; percent <= 100; ++percent) {
    stream << fmt::format("{},{}\n", percent, number(milliseconds(slack_at(result, percent))));
  }
}

}  // namespace hoccl::cli
