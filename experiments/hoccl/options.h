#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/units.h"
#include "engine/pipeline/options.h"
#include "engine/schedule/compile.h"
#include "experiments/hoccl/ranks_as.h"
#include "hw/verbs/verbs_options.h"

namespace hoccl::cli {

/// The paper's servers, two of them (HOCCL paper, evaluation set-up).
inline constexpr const char* kDefaultTopology = "h800-2x8";
/// Where the paper trains.
inline constexpr const char* kTrainingTopology = "h800-4x8";

/// Which pattern on which machine.
struct PatternOptions {
  std::string topology;  ///< empty: kDefaultTopology, or the one a saved plan names
  std::optional<int> ranks;
  std::string pattern = "sendrecv";  ///< a name, or a matrix (.csv) or list of flows (.json)
  std::string group;                 ///< ranks that take part, with commas; empty: all
  int from = 0;
  int to = 1;
  int root = 0;
  bool in_place = false;
  std::string self_copy = "peer";
  std::string matrix = "uniform";  ///< a kind, or a file (.csv)
  std::uint64_t seed = 1;          ///< of the matrix, and of the bytes that are checked
  std::string algorithm = "multicast";
  int nics = engine::CompileOptions().nics;
  int nodes_per_stage_in = engine::CompileOptions().nodes_per_stage_in;
  std::string forwarding;  ///< empty: the pattern's own
  std::optional<int> rails;
  std::string order;      ///< empty: the pattern's own
  double quantise = 0.0;  ///< as in CompileOptions
  engine::Bytes chunk = engine::CompileOptions().chunk_size;
  /// Every option that was given, of the whole verb, by its long name: its text.
  std::map<std::string, std::string> given = {};
};

struct PlanOptions {
  PatternOptions pattern;
  engine::Bytes size{std::int64_t{1} << 30};
  std::string json_file;  ///< empty: none
  std::string load_file;  ///< empty: compile
  bool predict = true;    ///< simulate it, where the simulation is built in
};

/// What is executed, whether simulated or measured.
struct WorkOptions {
  PatternOptions pattern = {};
  engine::Bytes begin{std::int64_t{2} << 20};
  engine::Bytes end{std::int64_t{1} << 30};
  int factor = 2;
  std::string plan_file = {};  ///< empty: compile
  int slots = 16;
  engine::PipelineOptions pipeline = {};
};

/// Files to write; empty: none.
struct OutputOptions {
  std::string csv_file;
  std::string json_file;
  std::string trace_file;
};

/// What a simulation is made of.
struct ModelOptions {
  std::string network = "fluid";
  std::string calibration;               ///< empty: the topology's
  std::vector<std::string> assignments;  ///< --set key=value
  int jobs = 2;
};

struct SimOptions {
  WorkOptions work;
  ModelOptions model;
  OutputOptions output;
  std::string system = "hoccl";
  bool pipelining = true;
  bool pxn = true;
  bool dynamic_buffers = false;
  bool unregistered_buffers = false;
  bool prebuilt_writes = false;
  double busy_driver = 0.0;
  int warmup = 1;
  int iterations = 1;
  bool print_calibration = false;
  std::string command;  ///< as typed, for the headers
};

/// What a machine without GPUs moves in seconds.
inline constexpr engine::Bytes kLargestMeasured{std::int64_t{64} << 20};

/// How a real backend runs and measures.
struct MeasureOptions {
  std::string copy = "host";
  std::string link = "loopback";
  std::optional<engine::BytesPerSecond> link_rate;
  std::optional<engine::Seconds> link_delay;
  hw::VerbsOptions verbs;
  std::string ranks_as = kProcesses;
  std::string gates = "memory-operations";
  std::string devices;  ///< empty: 0, 1, ...
  bool strict = false;
  bool prove = false;
  bool check = false;
  int warmup = 1;
  std::optional<int> iterations;  ///< none: as fits into about a second per size
  int rounds = 5;
};

struct RunOptions {
  WorkOptions work{.end = kLargestMeasured};
  MeasureOptions measure;
  OutputOptions output;
  std::vector<std::string> words;  ///< as typed, without the program's name
};

struct ValidateOptions {
  WorkOptions work{.end = kLargestMeasured};
  MeasureOptions measure;
  ModelOptions model;
  std::string measured_file;  ///< empty: measure here and now
  std::string csv_file;       ///< empty: none
  std::string json_file;      ///< empty: none
  std::string trace_file;     ///< empty: none
  std::string command;        ///< as typed, for the headers
};

/// A simulated training step.
struct TrainOptions {
  WorkOptions work;  ///< machine, forwarding and pipeline
  ModelOptions model;
  OutputOptions output;
  std::string setup = "gpt-6.7b";  ///< a preset, or a file (.toml)
  std::string system = "hoccl";
  // Instead of what the model's file says.
  std::optional<int> tensor;
  std::optional<int> pipeline;
  std::optional<int> chunks;
  std::optional<int> data;
  std::optional<int> expert;
  std::optional<int> microbatch;
  std::optional<int> microbatches;
  std::optional<int> receive_ahead;
  std::string schedule;  ///< empty: the file's
  std::string order;     ///< empty: the file's
  std::string contention = "line";
  bool communication = true;
  bool pipelining = true;
  bool priority_switch = true;
  bool group_messages = false;
  bool dynamic_buffers = false;
  double busy_driver = 0.0;
  double length_spread = 0.0;
  bool ideal_reduce = false;
  bool print_model = false;
  std::string sm_timeline_file;  ///< empty: none
  std::string slack_file;        ///< empty: none
  std::string command;           ///< as typed, for the headers
};

struct DoctorOptions {
  PatternOptions pattern;  ///< topology, ranks and chunk
  int slots = 16;
};

struct CalibrateOptions {
  PatternOptions pattern;  ///< what was given, no more
  std::string topology = "h200-1x1";
  int device = 0;
  std::string base = "h200";
  std::string out_file;
  std::string csv_file;      ///< empty: none
  std::string samples_file;  ///< empty: measure here and now
  bool gates_only = false;
  std::string registration;  ///< the RDMA device whose registrations are timed instead; empty: none
  engine::Bytes begin{std::int64_t{1} << 20};
  engine::Bytes end{std::int64_t{256} << 20};
  int rounds = 5;
  std::vector<std::string> words;  ///< as typed, without the program's name
};

inline PatternOptions& pattern_options(PlanOptions& options) { return options.pattern; }
inline PatternOptions& pattern_options(SimOptions& options) { return options.work.pattern; }
inline PatternOptions& pattern_options(RunOptions& options) { return options.work.pattern; }
inline PatternOptions& pattern_options(ValidateOptions& options) { return options.work.pattern; }
inline PatternOptions& pattern_options(TrainOptions& options) { return options.work.pattern; }
inline PatternOptions& pattern_options(DoctorOptions& options) { return options.pattern; }
inline PatternOptions& pattern_options(CalibrateOptions& options) { return options.pattern; }

}  // namespace hoccl::cli
