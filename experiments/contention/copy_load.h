#pragma once

#include <memory>

#include "engine/base/units.h"
#include "experiments/contention/load.h"

namespace hoccl::contention {

struct LoadMemory;

/// Copies between host and device by copy engines. Neither direction: the thread only asks CUDA for
/// the state of its streams.
struct CopyLoadOptions {
  bool to_host = false;
  bool to_device = false;
  bool staged = false;  ///< both: what came to the host goes back to the device, as in a pipeline
  engine::Bytes chunk;
  int batch = 1;                ///< chunks per call
  int streams = 1;              ///< per direction
  engine::Bytes host_region;    ///< of the pinned memory that is gone through again and again
  engine::Bytes device_region;  ///< likewise of the GPU's memory; small ones stay in its L2 cache
  engine::BytesPerSecond limit{};  ///< per direction; 0: as fast as it goes
};

std::unique_ptr<Load> copy_load(const CopyLoadOptions& options, const LoadMemory& memory);

}  // namespace hoccl::contention
