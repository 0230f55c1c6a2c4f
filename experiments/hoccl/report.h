#pragma once

#include <cstdint>
#include <iosfwd>
#include <span>
#include <string>

#include "sim/run/result.h"

namespace hoccl::cli {

/// What all rows of one table have in common.
struct ReportHead {
  std::string command;
  std::string pattern;
  std::string system;
  std::string topology;
  int ranks = 0;
  std::string calibration;  ///< name, and the constants that --set replaced
  std::uint64_t calibration_hash = 0;
  std::string network;
  std::uint64_t seed = 0;
  int warmup = 0;
  int iterations = 0;
};

/// For people: `#` lines that say what was simulated, then nccl-tests' columns and ours.
std::string table_head(const ReportHead& head);
std::string table_row(const sim::RunResult& result);

/// The contract's columns, then further ones.
void write_csv(std::ostream& stream, const ReportHead& head,
               std::span<const sim::RunResult> results);
void write_json(std::ostream& stream, const ReportHead& head,
                std::span<const sim::RunResult> results);

}  // namespace hoccl::cli
