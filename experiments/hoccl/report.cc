#include "experiments/hoccl/report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>

namespace hoccl::cli {
namespace {

using engine::gigabytes_per_second;
using engine::microseconds;
using sim::RunResult;

double bound_pct(const RunResult& result) { return 100.0 * (result.bound / result.time); }
double calibrated_pct(const RunResult& result) {
  return 100.0 * (result.calibrated_bound / result.time);
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

}  // namespace

std::string table_head(const ReportHead& head) {
  return fmt::format(
      "# {}\n"
      "# simulated: pattern {}, system {}, network {}, seed {}\n"
      "# topology {} ({} ranks), calibration {} ({:016x}), warm-up {}, iterations {}\n"
      "#{:>11} {:>12} {:>13} {:>13} {:>9} {:>13} {:>11} {:>11} {:>11} {:>5}\n",
      head.command, head.pattern, head.system, head.network, head.seed, head.topology, head.ranks,
      head.calibration, head.calibration_hash, head.warmup, head.iterations, "size(B)", "time(us)",
      "algbw(GB/s)", "busbw(GB/s)", "bound(%)", "calibrated(%)", "launch(us)", "submit(us)",
      "proxy(us)", "SMs");
}

std::string table_row(const RunResult& result) {
  return fmt::format(
      "{:>12} {:>12.2f} {:>13.2f} {:>13.2f} {:>9.2f} {:>13.2f} {:>11.2f} {:>11.2f} {:>11.2f} "
      "{:>5}\n",
      result.size.count(), microseconds(result.time), gigabytes_per_second(result.algbw),
      gigabytes_per_second(result.busbw), bound_pct(result), calibrated_pct(result),
      microseconds(result.launch), microseconds(result.submit), microseconds(result.proxy),
      result.sms);
}

void write_csv(std::ostream& stream, const ReportHead& head, std::span<const RunResult> results) {
  stream << "pattern,system,topology,size_bytes,time_us,algbw_gb_per_s,busbw_gb_per_s,bound_pct,"
            "calibrated_bound_pct,launch_us,submit_us,proxy_us,sms,nvlink_bytes,nic_bytes,"
            "pcie_bytes,network,calibration,calibration_hash,seed\n";
  for (const RunResult& result : results) {
    stream << fmt::format(
        "{},{},{},{},{:.6f},{:.6f},{:.6f},{:.6f},{:.6f},{:.6f},{:.6f},{:.6f},{},{},{},{},{},{},"
        "{:016x},{}\n",
        csv_cell(head.pattern), csv_cell(head.system), csv_cell(head.topology), result.size.count(),
        microseconds(result.time), gigabytes_per_second(result.algbw),
        gigabytes_per_second(result.busbw), bound_pct(result), calibrated_pct(result),
        microseconds(result.launch), microseconds(result.submit), microseconds(result.proxy),
        result.sms, result.link_bytes.nvlink.count(), result.link_bytes.nic.count(),
        result.link_bytes.pcie.count(), head.network, csv_cell(head.calibration),
        head.calibration_hash, head.seed);
  }
}

void write_json(std::ostream& stream, const ReportHead& head, std::span<const RunResult> results) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const RunResult& result : results) {
    rows.push_back({{"size_bytes", result.size.count()},
                    {"time_us", microseconds(result.time)},
                    {"algbw_gb_per_s", gigabytes_per_second(result.algbw)},
                    {"busbw_gb_per_s", gigabytes_per_second(result.busbw)},
                    {"bound_pct", bound_pct(result)},
                    {"calibrated_bound_pct", calibrated_pct(result)},
                    {"launch_us", microseconds(result.launch)},
                    {"submit_us", microseconds(result.submit)},
                    {"proxy_us", microseconds(result.proxy)},
                    {"sms", result.sms},
                    {"nvlink_bytes", result.link_bytes.nvlink.count()},
                    {"nic_bytes", result.link_bytes.nic.count()},
                    {"pcie_bytes", result.link_bytes.pcie.count()}});
  }
  const nlohmann::ordered_json report = {
      {"schema", 1},
      {"kind", "simulated"},
      {"command", head.command},
      {"pattern", head.pattern},
      {"system", head.system},
      {"topology", head.topology},
      {"ranks", head.ranks},
      {"calibration", head.calibration},
      {"calibration_hash", fmt::format("{:016x}", head.calibration_hash)},
      {"network", head.network},
      {"seed", head.seed},
      {"warmup", head.warmup},
      {"iterations", head.iterations},
      {"results", rows}};
  // A path on the command line need not be UTF-8.
  stream << report.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << '\n';
}

}  // namespace hoccl::cli
