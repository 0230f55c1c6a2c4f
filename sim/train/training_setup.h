#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/units.h"
#include "sim/train/model_shape.h"
#include "sim/train/parallel_layout.h"

namespace hoccl::sim {

/// How fast the model's kernels are while nothing else uses the GPU.
struct ComputeSpeed {
  double forward = 0.0;   ///< share of the GPU's peak
  double backward = 0.0;  ///< the same
  /// Of a step, in which the GPUs do nothing that the model knows of (data, logging, host code).
  engine::Seconds step_overhead{0.0};
};

/// SMs that NCCL's kernels of each traffic class hold.
struct KernelSms {
  int tensor = 0;
  int pipeline = 0;
  int data = 0;
  int expert = 0;
};

/// A model and how it is trained: what a file of `presets/` says.
struct TrainingSetup {
  std::string name;
  ModelShape model;
  ParallelLayout layout;
  ComputeSpeed speed;
  KernelSms sms;
  /// Parts that a model chunk's parameters and gradients are gathered and reduced in.
  int buckets_per_chunk = 1;
  int parameter_bytes = 2;     ///< of a gathered parameter (bf16)
  int gradient_bytes = 4;      ///< of a reduced gradient (Megatron-LM accumulates in fp32)
  bool overlap_gather = true;  ///< parameters are gathered beside the first forward passes
  bool overlap_reduce = true;  ///< gradients are reduced beside the last backward passes

  /// Where a value comes from, by its key ("layout.tensor"), as the file says it.
  struct Origin {
    std::string key;
    std::string value;
    std::string source;
    std::string kind;  ///< "input" or "fitted"
  };
  std::vector<Origin> origins;
};

/// Every key must be there with value, source and kind, and nothing else; ConfigError of one line
/// otherwise.
TrainingSetup load_training_setup(const std::filesystem::path& file);
/// The same from text; `name` stands for the file in messages.
TrainingSetup parse_training_setup(std::string_view text, const std::string& name);
/// One that comes with the program ("gpt-6.7b"), or a file when the text ends in ".toml".
TrainingSetup resolve_training_setup(const std::string& name_or_file);
std::vector<std::string> training_setup_names();
/// Replaces one value ("layout.tensor", "4"); its source is then "--set". ConfigError for an
/// unknown key (naming close ones) or a value that does not fit.
void set_training_value(TrainingSetup& setup, std::string_view key, std::string_view text);

}  // namespace hoccl::sim
