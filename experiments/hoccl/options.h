#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/units.h"
#include "engine/pipeline/options.h"
#include "engine/schedule/compile.h"

namespace hoccl::cli {

/// The paper's servers, two of them (HOCCL paper, evaluation set-up).
inline constexpr const char* kDefaultTopology = "h800-2x8";

/// What `plan` and `sim` share: which pattern on which machine.
struct PatternOptions {
  std::string topology;  ///< empty: kDefaultTopology, or the one a saved plan names
  std::optional<int> ranks;
  std::string pattern = "sendrecv";
  int from = 0;
  int to = 1;
  int rails = 1;
  engine::Bytes chunk = engine::CompileOptions().chunk_size;
  std::string forwarding = "symmetric";
};

struct PlanOptions {
  PatternOptions pattern;
  engine::Bytes size{std::int64_t{1} << 30};
  std::string json_file;  ///< empty: none
  std::string load_file;  ///< empty: compile
};

struct SimOptions {
  PatternOptions pattern;
  std::string system = "hoccl";
  engine::Bytes begin{std::int64_t{2} << 20};
  engine::Bytes end{std::int64_t{1} << 30};
  int factor = 2;
  std::string plan_file;  ///< empty: compile

  int slots = 16;
  engine::PipelineOptions pipeline;
  bool pipelining = true;

  std::string network = "fluid";
  std::string calibration;               ///< empty: the topology's
  std::vector<std::string> assignments;  ///< --set key=value
  std::uint64_t seed = 1;
  int warmup = 1;
  int iterations = 1;
  int jobs = 2;

  std::string csv_file;
  std::string json_file;
  std::string trace_file;
  bool print_calibration = false;
  std::string command;  ///< as typed, for the headers
};

}  // namespace hoccl::cli
