#pragma once

#include "experiments/hoccl/options.h"

namespace hoccl::cli {

/// `hoccl train`: simulates one training step. Throws ConfigError, RunError.
void run_train(const TrainOptions& options);

}  // namespace hoccl::cli
