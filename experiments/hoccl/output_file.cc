#include "experiments/hoccl/output_file.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>
#include <vector>

#include "engine/base/config_error.h"
#include "engine/trace/csv_writer.h"
#include "engine/trace/perfetto_writer.h"

namespace hoccl::cli {

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

namespace {

void refuse_same_file(const OutputOptions& options) {
  const std::vector<std::pair<std::string, std::string>> files = {
      {"--csv", options.csv_file}, {"--json", options.json_file}, {"--trace", options.trace_file}};
  for (std::size_t i = 0; i < files.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (files[i].second.empty() || files[i].second != files[j].second) continue;
      throw engine::ConfigError(fmt::format("{} = '{}': expected another file than {}",
                                            files[i].first, files[i].second, files[j].first));
    }
  }
}

}  // namespace

Outputs open_outputs(const OutputOptions& options) {
  refuse_same_file(options);
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
