#include "experiments/hoccl/output_file.h"

#include <fmt/format.h>

#include <filesystem>

#include "engine/base/config_error.h"
#include "engine/trace/csv_writer.h"
#include "engine/trace/perfetto_writer.h"
#include "experiments/hoccl/traffic_options.h"

namespace hoccl::cli {

namespace {

/// One spelling for each file, existing or not.
std::filesystem::path identity(const std::string& file) {
  std::error_code error;
  // Absolute first: a path without any existing part would stay as it is.
  const std::filesystem::path absolute = std::filesystem::absolute(file, error);
  std::filesystem::path path = std::filesystem::weakly_canonical(absolute, error);
  return error ? absolute : path;
}

}  // namespace

void require_different_files(const std::vector<NamedFile>& outputs,
                             const std::vector<NamedFile>& inputs) {
  std::vector<NamedFile> others = inputs;
  for (const NamedFile& output : outputs) {
    if (output.file.empty()) continue;
    for (const NamedFile& other : others) {
      if (other.file.empty() || identity(other.file) != identity(output.file)) continue;
      throw engine::ConfigError(fmt::format("{} = '{}': expected another file than {}",
                                            output.option, output.file, other.option));
    }
    others.push_back(output);
  }
}

std::vector<NamedFile> files_of(const OutputOptions& options) {
  return {
      {"--csv", options.csv_file}, {"--json", options.json_file}, {"--trace", options.trace_file}};
}

NamedFile preset_or_file(std::string_view option, const std::string& name) {
  return {option, name.ends_with(".toml") ? name : std::string()};
}

std::vector<NamedFile> input_files(const PatternOptions& options) {
  const bool is_file = is_pattern_file(options.pattern);
  return {preset_or_file("--topology", options.topology),
          {"--pattern", is_file ? options.pattern : std::string()},
          {"--matrix", is_pattern_file(options.matrix) ? options.matrix : std::string()}};
}

std::unique_ptr<engine::AtomicFile> open_output(std::string_view option, const std::string& path) {
  if (path.empty()) return nullptr;
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    throw engine::ConfigError(
        fmt::format("{} = '{}': is a folder; expected a file to write", option, path));
  }
  try {
    return std::make_unique<engine::AtomicFile>(path);
  } catch (const engine::ConfigError& failure) {
    throw engine::ConfigError(fmt::format("{} = {}", option, failure.what()));
  }
}

Outputs open_outputs(const OutputOptions& options) {
  return {.csv = open_output("--csv", options.csv_file),
          .json = open_output("--json", options.json_file),
          .trace = open_output("--trace", options.trace_file)};
}

void write_trace(std::ostream& stream, const std::string& file,
                 std::span<const engine::TraceEvent> events) {
  if (std::filesystem::path(file).extension() == ".csv") {
    engine::write_trace_csv(stream, events);
  } else {
    engine::write_trace_perfetto(stream, events);
  }
}

}  // namespace hoccl::cli
