#pragma once

#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/run_result.h"
#include "engine/topology/topology.h"
#include "hw/fabric/hw_options.h"

namespace hoccl::cli {

/// The whole operation of one size, one kind of leg of it, or what it costs the CPU: simulated
/// beside measured.
struct Comparison {
  engine::Bytes size;
  /// "all"; of engine::kLegNames: engine time per leg of one operation; "launch", "submit" and
  /// "proxy" as in RunResult: CPU time of an operation on the busiest rank.
  std::string_view part;
  std::optional<engine::Seconds> simulated;  ///< nothing where there is no such leg
  std::optional<engine::Seconds> measured;
  int operations = 1;                    ///< measured ones: their median ("all") or mean
  std::optional<engine::Rounds> rounds;  ///< of "all"

  /// In percent of the measured time; nothing where one is missing or nothing was measured.
  [[nodiscard]] std::optional<double> error_pct() const;
};

/// Both in the same order of sizes.
std::vector<Comparison> compare(std::span<const engine::RunResult> simulated,
                                std::span<const engine::RunResult> measured);

struct ComparisonHead {
  std::string command;
  std::string measured_command;
  std::string host;
  hw::HwOptions hardware;
  std::string topology;
  std::string network;
  std::string calibration;
  engine::WireKind wire = engine::WireKind::kNic;  ///< the simulated one
};
std::string comparison_table(const ComparisonHead& head, std::span<const Comparison> rows);
void write_comparison_csv(std::ostream& stream, std::span<const Comparison> rows);
/// One object: what was compared with what, and the rows of the CSV.
void write_comparison_json(std::ostream& stream, const ComparisonHead& head,
                           std::span<const Comparison> rows);

}  // namespace hoccl::cli
