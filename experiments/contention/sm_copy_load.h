#pragma once

#include <memory>

#include "engine/base/units.h"
#include "experiments/contention/copy_load.h"
#include "experiments/contention/load.h"

namespace hoccl::contention {

/// Copies within the GPU by a kernel that holds `multiprocessors` SMs, at `rate` if it can.
struct SmCopyLoadOptions {
  int multiprocessors = 0;
  engine::BytesPerSecond rate;
};

std::unique_ptr<Load> sm_copy_load(const SmCopyLoadOptions& options, const LoadMemory& memory);

}  // namespace hoccl::contention
