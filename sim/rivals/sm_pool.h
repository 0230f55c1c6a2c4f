#pragma once

#include <algorithm>
#include <vector>

#include "engine/base/check.h"
#include "engine/base/ids.h"

namespace hoccl::sim {

/// Which SMs communication kernels hold, counted per GPU.
class SmPool {
 public:
  explicit SmPool(int gpu_count) : gpus_(static_cast<std::size_t>(gpu_count)) {}

  void hold(engine::GpuId gpu, int count) {
    Gpu& entry = gpus_[gpu.index()];
    entry.held += count;
    entry.peak = std::max(entry.peak, entry.held);
  }
  void release(engine::GpuId gpu, int count) {
    Gpu& entry = gpus_[gpu.index()];
    HOCCL_CHECK(count <= entry.held, "GPU {}: {} released, {} held", gpu, count, entry.held);
    entry.held -= count;
  }

  [[nodiscard]] int held(engine::GpuId gpu) const { return gpus_[gpu.index()].held; }
  /// Most SMs held at once on any GPU since the last reset_peak().
  [[nodiscard]] int peak() const {
    int result = 0;
    for (const Gpu& gpu : gpus_) result = std::max(result, gpu.peak);
    return result;
  }
  void reset_peak() {
    for (Gpu& gpu : gpus_) gpu.peak = gpu.held;
  }

 private:
  struct Gpu {
    int held = 0;
    int peak = 0;
  };
  std::vector<Gpu> gpus_;
};

}  // namespace hoccl::sim
