#include "tests/cuda/gpu.h"

#include <cstdlib>

#include "hw/cuda/cuda_devices.h"

namespace hoccl::hw {

std::string why_no_gpu() {
  // A stream for every hardware queue: with the default of 8, streams share queues, and a copy
  // could wait behind a kernel of another stream that waits for SMs.
  ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", /*replace=*/0);
  if (cuda_gpus().empty()) return "NOT TESTED: no GPU (no driver, or it shows none)";
  use_cuda_device(0);
  return {};
}

}  // namespace hoccl::hw
