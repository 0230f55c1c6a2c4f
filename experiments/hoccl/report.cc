#include "experiments/hoccl/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>

#include "engine/base/check.h"

namespace hoccl::cli {
namespace {

using engine::gigabytes_per_second;
using engine::microseconds;
using engine::RunResult;
using engine::Seconds;

/// A bound as percent of the time.
std::optional<double> percent(const std::optional<Seconds>& bound, Seconds time) {
  if (!bound) return std::nullopt;
  return 100.0 * (*bound / time);
}

/// Of slowest and fastest round, in percent of the median; one round has none.
std::optional<double> spread_pct(const RunResult& result) {
  if (result.rounds->count < 2) return std::nullopt;
  return 100.0 * ((result.rounds->slowest - result.rounds->fastest) / result.time);
}

/// A cell of a CSV file: quoted where it needs to be (RFC 4180).
std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char letter : text) {
    if (letter == '"') quoted += '"';
    quoted += letter;
  }
  return quoted + '"';
}

/// Column names and their numbers in the order of the files.
using Numbers = std::vector<std::pair<std::string_view, std::optional<double>>>;

Numbers contract_numbers(const RunResult& result) {
  return {{"time_us", microseconds(result.time)},
          {"algbw_gb_per_s", gigabytes_per_second(result.algbw)},
          {"busbw_gb_per_s", gigabytes_per_second(result.busbw)},
          {"bound_pct", percent(result.bound, result.time)},
          {"calibrated_bound_pct", percent(result.calibrated_bound, result.time)},
          {"launch_us", microseconds(result.launch)},
          {"submit_us", microseconds(result.submit)},
          {"proxy_us", microseconds(result.proxy)}};
}

using Counts = std::vector<std::pair<std::string_view, std::int64_t>>;

/// Whole numbers behind the contract's columns.
Counts further_counts(const RunResult& result) {
  Counts counts = {{"message_bytes", result.message.count()}};
  if (result.link_bytes) {
    counts.emplace_back("nvlink_bytes", result.link_bytes->nvlink.count());
    counts.emplace_back("nic_bytes", result.link_bytes->nic.count());
    counts.emplace_back("pcie_bytes", result.link_bytes->pcie.count());
  }
  if (result.rounds) {
    counts.emplace_back("rounds", result.rounds->count);
    counts.emplace_back("iterations", result.rounds->iterations);
  }
  if (result.driver) {
    counts.emplace_back("copies", result.driver->copies);
    counts.emplace_back("copies_on_sms", result.driver->on_sms);
  }
  return counts;
}

Numbers further_numbers(const RunResult& result) {
  if (!result.rounds) {
    return {{"balanced_bound_pct", percent(result.balanced_bound, result.time)}};
  }
  return {{"spread_pct", spread_pct(result)},
          {"min_us", microseconds(result.rounds->fastest)},
          {"max_us", microseconds(result.rounds->slowest)}};
}

/// Measured on a GPU only.
Numbers driver_numbers(const RunResult& result) {
  if (!result.driver) return {};
  return {{"driver_us", microseconds(result.driver->time)}};
}

nlohmann::ordered_json legs_json(const engine::LegTimes& legs) {
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  for (std::size_t i = 0; i < legs.size(); ++i) {
    if (legs[i].count == 0) continue;
    object[std::string(engine::kLegNames[i])] = {{"count", legs[i].count},
                                                 {"busy_us", microseconds(legs[i].busy)}};
  }
  return object;
}

void add(nlohmann::ordered_json& row, const Numbers& numbers) {
  for (const auto& [name, value] : numbers) {
    row[std::string(name)] =
        value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
  }
}

nlohmann::ordered_json row_json(const RunResult& result) {
  nlohmann::ordered_json row = {{"size_bytes", result.size.count()}};
  add(row, contract_numbers(result));
  row["sms"] = result.sms;
  for (const auto& [name, count] : further_counts(result)) row[std::string(name)] = count;
  add(row, further_numbers(result));
  add(row, driver_numbers(result));
  if (result.legs) row["legs"] = legs_json(*result.legs);
  return row;
}

/// For people, too: like dump(2), but an array of plain values is one line.
void write_pretty(std::ostream& stream, const nlohmann::ordered_json& value, int indent) {
  const bool is_plain = std::ranges::none_of(
      value, [](const nlohmann::ordered_json& part) { return part.is_structured(); });
  if (!value.is_structured() || (value.is_array() && is_plain)) {
    // A path on the command line need not be UTF-8.
    stream << value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
    return;
  }
  const std::string margin(static_cast<std::size_t>(indent), ' ');
  const bool is_object = value.is_object();
  stream << (is_object ? '{' : '[');
  std::string_view before = "\n";
  for (const auto& item : value.items()) {
    stream << before << margin << "  ";
    if (is_object) stream << nlohmann::ordered_json(item.key()).dump() << ": ";
    write_pretty(stream, item.value(), indent + 2);
    before = ",\n";
  }
  if (!value.empty()) stream << '\n' << margin;
  stream << (is_object ? '}' : ']');
}

std::string table_cell(const std::optional<double>& value, int width) {
  return value ? fmt::format("{:>{}.2f}", *value, width) : fmt::format("{:>{}}", "-", width);
}

}  // namespace

std::string_view to_string(ReportKind kind) {
  switch (kind) {
    case ReportKind::kSimulated:
      return "simulated";
    case ReportKind::kMeasured:
      return "measured";
  }
  return "?";
}

nlohmann::ordered_json settings_json(
    const std::vector<std::pair<std::string, std::string>>& settings) {
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  for (const auto& [name, value] : settings) {
    if (!value.empty()) object[name] = value;
  }
  return object;
}

std::string table_head(const ReportHead& head) {
  std::string text = fmt::format(
      "# {}\n"
      "# {}: pattern {}, system {}, topology {} ({} ranks), seed {}, warm-up {}\n",
      head.command, to_string(head.kind), head.pattern, head.system, head.topology, head.ranks,
      head.seed, head.warmup);
  for (const std::string& note : head.notes) text += fmt::format("# {}\n", note);
  text += fmt::format("#{:>11} {:>12} {:>13} {:>13} {:>9} {:>13} {:>11} {:>11} {:>11} {:>5}",
                      "size(B)", "time(us)", "algbw(GB/s)", "busbw(GB/s)", "bound(%)",
                      "calibrated(%)", "launch(us)", "submit(us)", "proxy(us)", "SMs");
  if (head.kind == ReportKind::kMeasured) text += fmt::format(" {:>9} {:>5}", "spread(%)", "n");
  return text + '\n';
}

std::string table_row(const RunResult& result) {
  std::string text = fmt::format(
      "{:>12} {:>12.2f} {:>13.2f} {:>13.2f} {} {} {:>11.2f} {:>11.2f} {:>11.2f} {:>5}",
      result.size.count(), microseconds(result.time), gigabytes_per_second(result.algbw),
      gigabytes_per_second(result.busbw), table_cell(percent(result.bound, result.time), 9),
      table_cell(percent(result.calibrated_bound, result.time), 13), microseconds(result.launch),
      microseconds(result.submit), microseconds(result.proxy), result.sms);
  if (result.rounds) {
    text += fmt::format(" {} {:>5}", table_cell(spread_pct(result), 9),
                        result.rounds->count * result.rounds->iterations);
  }
  return text + '\n';
}

void write_csv(std::ostream& stream, const ReportHead& head, std::span<const RunResult> results) {
  // Which columns there are depends on the kind only, and is the same in every row.
  std::vector<std::string> names = {"pattern", "system", "topology", "size_bytes"};
  const RunResult& first = results.front();
  for (const auto& [name, value] : contract_numbers(first)) names.emplace_back(name);
  names.emplace_back("sms");
  for (const auto& [name, value] : further_counts(first)) names.emplace_back(name);
  for (const auto& [name, value] : further_numbers(first)) names.emplace_back(name);
  for (const auto& [name, value] : driver_numbers(first)) names.emplace_back(name);
  for (const auto& [name, value] : head.conditions) names.push_back(name);
  names.emplace_back("seed");
  for (const auto& [name, value] : head.settings) names.push_back(name);
  stream << fmt::format("{}\n", fmt::join(names, ","));

  const auto number = [](const std::optional<double>& value) {
    return value ? fmt::format("{:.6f}", *value) : std::string();
  };
  for (const RunResult& result : results) {
    std::vector<std::string> cells = {csv_cell(head.pattern), csv_cell(head.system),
                                      csv_cell(head.topology), std::to_string(result.size.count())};
    for (const auto& [name, value] : contract_numbers(result)) cells.push_back(number(value));
    cells.push_back(std::to_string(result.sms));
    for (const auto& [name, count] : further_counts(result)) cells.push_back(std::to_string(count));
    for (const auto& [name, value] : further_numbers(result)) cells.push_back(number(value));
    for (const auto& [name, value] : driver_numbers(result)) cells.push_back(number(value));
    for (const auto& [name, value] : head.conditions) cells.push_back(csv_cell(value));
    cells.push_back(std::to_string(head.seed));
    for (const auto& [name, value] : head.settings) cells.push_back(csv_cell(value));
    stream << fmt::format("{}\n", fmt::join(cells, ","));
  }
}

void write_json(std::ostream& stream, const ReportHead& head, const nlohmann::ordered_json& more,
                std::span<const RunResult> results,
                std::span<const nlohmann::ordered_json> more_of_rows) {
  HOCCL_CHECK(more_of_rows.empty() || more_of_rows.size() == results.size(), "{} rows, more of {}",
              results.size(), more_of_rows.size());
  nlohmann::ordered_json report = {{"schema", 1},
                                   {"kind", to_string(head.kind)},
                                   {"command", head.command},
                                   {"pattern", head.pattern},
                                   {"system", head.system},
                                   {"topology", head.topology},
                                   {"ranks", head.ranks}};
  for (const auto& [name, value] : head.conditions) report[name] = value;
  report["seed"] = head.seed;
  report["warmup"] = head.warmup;
  report.update(more);
  report["results"] = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < results.size(); ++i) {
    report["results"].push_back(row_json(results[i]));
    if (!more_of_rows.empty()) report["results"].back().update(more_of_rows[i]);
  }
  write_pretty(stream, report, 0);
  stream << '\n';
}

}  // namespace hoccl::cli
