#include "experiments/hoccl/validation.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "engine/base/check.h"

namespace hoccl::cli {

using engine::microseconds;
using engine::RunResult;
using engine::Seconds;

namespace {

std::optional<Seconds> mean(const std::optional<engine::LegTimes>& legs, std::size_t leg) {
  if (!legs || (*legs)[leg].count == 0) return std::nullopt;
  return (*legs)[leg].busy / static_cast<double>((*legs)[leg].count);
}

std::optional<double> microseconds_of(const std::optional<Seconds>& time) {
  if (!time) return std::nullopt;
  return microseconds(*time);
}

std::optional<double> fastest(const Comparison& row) {
  if (!row.rounds) return std::nullopt;
  return microseconds(row.rounds->fastest);
}

std::optional<double> slowest(const Comparison& row) {
  if (!row.rounds) return std::nullopt;
  return microseconds(row.rounds->slowest);
}

std::string link_note(const ComparisonHead& head) {
  const hw::HwOptions& hardware = head.hardware;
  if (hardware.link == hw::LinkKind::kLoopbackMap) {
    return "the simulated wire is a map wire, too: nothing moves on it";
  }
  if (!hardware.link_rate) {
    return fmt::format(
        "the simulated {}, this host's wire has no rate of its own: give --link-rate to compare "
        "the wire",
        head.wire == engine::WireKind::kMap ? "wire moves nothing"
                                            : "NICs have the topology's rate");
  }
  return fmt::format(
      "the simulated NICs have this link's rate ({}) and delay ({}); "
      "they receive no faster either, which this link may",
      to_string(*hardware.link_rate), engine::to_string(hardware.link_delay));
}

/// What may be expected of the copy legs.
std::string_view copy_note(hw::CopyKind copy) {
  switch (copy) {
    case hw::CopyKind::kHost:
      return "# The copy legs of this host are compared with the named calibration of a GPU, which "
             "is not this host's:\n"
             "# only the wire is expected to agree, where its thread finds a core free.";
    case hw::CopyKind::kCuda:
      break;
  }
  // Whatever is not the host copies with the engines of a GPU.
  return "# The copy legs are those of the GPU's own copy engines: they are expected to agree "
         "where\n"
         "# the calibration is that GPU's and its host's.";
}

}  // namespace

std::optional<double> Comparison::error_pct() const {
  if (!simulated || !measured || *measured == Seconds(0.0)) return std::nullopt;
  return 100.0 * ((*simulated - *measured) / *measured);
}

std::vector<Comparison> compare(std::span<const RunResult> simulated,
                                std::span<const RunResult> measured) {
  HOCCL_CHECK(simulated.size() == measured.size(), "{} sizes simulated, {} measured",
              simulated.size(), measured.size());
  std::vector<Comparison> rows;
  for (std::size_t i = 0; i < simulated.size(); ++i) {
    const RunResult& ours = simulated[i];
    const RunResult& theirs = measured[i];
    const int operations = theirs.rounds ? theirs.rounds->count * theirs.rounds->iterations : 1;
    rows.push_back({ours.size, "all", ours.time, theirs.time, operations, theirs.rounds});
    for (std::size_t leg = 0; leg < engine::kLegNames.size(); ++leg) {
      Comparison row{
          ours.size,   engine::kLegNames[leg], mean(ours.legs, leg), mean(theirs.legs, leg), 1,
          std::nullopt};
      if (row.simulated || row.measured) rows.push_back(row);
    }
    const auto add_cpu = [&](std::string_view part, Seconds RunResult::*cpu_time) {
      rows.push_back({ours.size, part, ours.*cpu_time, theirs.*cpu_time, operations, std::nullopt});
    };
    add_cpu("launch", &RunResult::launch);
    add_cpu("submit", &RunResult::submit);
    add_cpu("proxy", &RunResult::proxy);
  }
  return rows;
}

std::string comparison_table(const ComparisonHead& head, std::span<const Comparison> rows) {
  std::string text = fmt::format(
      "# {}\n"
      "# measured: {}\n"
      "#   on {}×{}: {}\n"
      "# simulated: topology {}, network {}, calibration {}\n"
      "#   {}\n"
      "{}\n"
      "# Legs: engine time per leg of one traced operation (n = 1). launch, submit, proxy: CPU "
      "time "
      "of an operation\n"
      "# on the busiest rank, mean of n; the measured proxy also looks for what has not come yet.\n"
      "#{:>11} {:<9} {:>13} {:>13} {:>11} {:>11} {:>9} {:>5}\n",
      head.command, head.measured_command, to_string(head.hardware.copy),
      to_string(head.hardware.link), head.host, head.topology, head.network, head.calibration,
      link_note(head), copy_note(head.hardware.copy), "size(B)", "part", "simulated(us)",
      "measured(us)", "min(us)", "max(us)", "error(%)", "n");
  const auto cell = [](const std::optional<double>& value, int width) {
    return value ? fmt::format("{:>{}.2f}", *value, width) : fmt::format("{:>{}}", "-", width);
  };
  for (const Comparison& row : rows) {
    text += fmt::format("{:>12} {:<9} {} {} {} {} {} {:>5}\n", row.size.count(), row.part,
                        cell(microseconds_of(row.simulated), 13),
                        cell(microseconds_of(row.measured), 13), cell(fastest(row), 11),
                        cell(slowest(row), 11), cell(row.error_pct(), 9), row.operations);
  }
  return text;
}

void write_comparison_csv(std::ostream& stream, std::span<const Comparison> rows) {
  const auto cell = [](const std::optional<double>& value) {
    return value ? fmt::format("{:.6f}", *value) : std::string();
  };
  stream << "size_bytes,part,simulated_us,measured_us,min_us,max_us,error_pct,n\n";
  for (const Comparison& row : rows) {
    stream << fmt::format("{},{},{},{},{},{},{},{}\n", row.size.count(), row.part,
                          cell(microseconds_of(row.simulated)), cell(microseconds_of(row.measured)),
                          cell(fastest(row)), cell(slowest(row)), cell(row.error_pct()),
                          row.operations);
  }
}

void write_comparison_json(std::ostream& stream, const ComparisonHead& head,
                           std::span<const Comparison> rows) {
  using nlohmann::ordered_json;
  const hw::HwOptions& hardware = head.hardware;
  ordered_json report = {
      {"schema", 1},
      {"kind", "comparison"},
      {"command", head.command},
      {"measured",
       {{"command", head.measured_command},
        {"host", head.host},
        {"copy", to_string(hardware.copy)},
        {"link", to_string(hardware.link)},
        {"link_rate", hardware.link_rate ? ordered_json(engine::to_string(*hardware.link_rate))
                                         : ordered_json(nullptr)},
        {"link_delay", engine::to_string(hardware.link_delay)}}},
      {"simulated",
       {{"topology", head.topology}, {"network", head.network}, {"calibration", head.calibration}}},
      {"results", ordered_json::array()}};
  const auto number = [](const std::optional<double>& value) {
    return value ? ordered_json(*value) : ordered_json(nullptr);
  };
  for (const Comparison& row : rows) {
    report["results"].push_back({{"size_bytes", row.size.count()},
                                 {"part", row.part},
                                 {"simulated_us", number(microseconds_of(row.simulated))},
                                 {"measured_us", number(microseconds_of(row.measured))},
                                 {"min_us", number(fastest(row))},
                                 {"max_us", number(slowest(row))},
                                 {"error_pct", number(row.error_pct())},
                                 {"n", row.operations}});
  }
  // A path on the command line need not be UTF-8.
  stream << report.dump(2, ' ', false, ordered_json::error_handler_t::replace) << '\n';
}

}  // namespace hoccl::cli
