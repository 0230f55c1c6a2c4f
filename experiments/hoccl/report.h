#pragma once

#include <cstdint>
#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/run_result.h"

namespace hoccl::cli {

/// Where the numbers of a table come from: never both in one.
enum class ReportKind : std::uint8_t { kSimulated, kMeasured };
std::string_view to_string(ReportKind kind);

/// What all rows of one table have in common.
struct ReportHead {
  ReportKind kind = ReportKind::kSimulated;
  std::string command;
  std::string pattern;
  std::string system;
  std::string topology;
  int ranks = 0;
  std::uint64_t seed = 0;
  int warmup = 0;
  std::vector<std::string> notes;  ///< further `#` lines of the table
  /// What else the numbers depend on: further columns of the CSV, the same in every row.
  std::vector<std::pair<std::string, std::string>> conditions;
  /// The same, behind all other columns. Not in the JSON, where `more` holds them with their types.
  std::vector<std::pair<std::string, std::string>> settings;
};

/// The settings that are not empty, as one object of texts.
nlohmann::ordered_json settings_json(
    const std::vector<std::pair<std::string, std::string>>& settings);

/// For people: `#` lines that say what was done, then nccl-tests' columns and ours.
std::string table_head(const ReportHead& head);
std::string table_row(const engine::RunResult& result);

/// The contract's columns, then further ones.
void write_csv(std::ostream& stream, const ReportHead& head,
               std::span<const engine::RunResult> results);
/// One object; `more` are further keys of it, and `more_of_rows`, if any, of each result.
void write_json(std::ostream& stream, const ReportHead& head, const nlohmann::ordered_json& more,
                std::span<const engine::RunResult> results,
                std::span<const nlohmann::ordered_json> more_of_rows = {});

}  // namespace hoccl::cli
