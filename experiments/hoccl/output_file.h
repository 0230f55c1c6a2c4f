#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/trace/atomic_file.h"
#include "engine/trace/trace.h"
#include "experiments/hoccl/options.h"

namespace hoccl::cli {

/// A file as an option names it; `file` empty: not given.
struct NamedFile {
  std::string_view option;
  std::string file;
};
/// Throws ConfigError when an output is the same file as an input or another output, however they
/// are spelled.
void require_different_files(const std::vector<NamedFile>& outputs,
                             const std::vector<NamedFile>& inputs);
std::vector<NamedFile> files_of(const OutputOptions& options);
/// Of an option that takes a preset's name, which is no file, or a .toml file.
NamedFile preset_or_file(std::string_view option, const std::string& name);

/// Those that the options of a pattern name.
std::vector<NamedFile> input_files(const PatternOptions& options);

/// Opens the file of an option before anything is computed, so that a bad path fails at once; null
/// when the option was not given. Throws ConfigError naming option and file.
std::unique_ptr<engine::AtomicFile> open_output(std::string_view option, const std::string& path);

/// The files of one table; null where not asked for.
struct Outputs {
  std::unique_ptr<engine::AtomicFile> csv;
  std::unique_ptr<engine::AtomicFile> json;
  std::unique_ptr<engine::AtomicFile> trace;
};
/// Throws ConfigError.
Outputs open_outputs(const OutputOptions& options);

/// In the format that the file's name asks for.
void write_trace(std::ostream& stream, const std::string& file,
                 std::span<const engine::TraceEvent> events);

}  // namespace hoccl::cli
