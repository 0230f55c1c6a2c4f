#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "engine/base/check.h"
#include "engine/base/ids.h"
#include "sim/machine/traffic_class.h"

namespace hoccl::sim {

/// Which SMs communication kernels hold, counted per GPU and traffic class.
class SmPool {
 public:
  /// Is told before the count of a GPU changes.
  class Watcher {
   public:
    virtual ~Watcher() = default;
    virtual void before_change(engine::GpuId gpu) = 0;
    virtual void after_change(engine::GpuId gpu) = 0;
  };

  explicit SmPool(int gpu_count) : gpus_(static_cast<std::size_t>(gpu_count)) {}

  /// At most one, which must outlive all changes.
  void watch(Watcher* watcher) { watcher_ = watcher; }

  void hold(engine::GpuId gpu, int count, TrafficClass traffic = TrafficClass::kOther) {
    change(gpu, count, traffic);
    Gpu& entry = gpus_[gpu.index()];
    entry.peak = std::max(entry.peak, entry.held);
  }
  void release(engine::GpuId gpu, int count, TrafficClass traffic = TrafficClass::kOther) {
    const int by_class = held(gpu, traffic);
    HOCCL_CHECK(count <= by_class, "GPU {}: {} released, {} held", gpu, count, by_class);
    change(gpu, -count, traffic);
  }

  [[nodiscard]] int held(engine::GpuId gpu) const { return gpus_[gpu.index()].held; }
  [[nodiscard]] int held(engine::GpuId gpu, TrafficClass traffic) const {
    return gpus_[gpu.index()].by_class[static_cast<std::size_t>(traffic)];
  }
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
    std::array<int, kTrafficClassCount> by_class{};
    int held = 0;
    int peak = 0;
  };

  void change(engine::GpuId gpu, int by, TrafficClass traffic) {
    if (watcher_ != nullptr) watcher_->before_change(gpu);
    Gpu& entry = gpus_[gpu.index()];
    entry.by_class[static_cast<std::size_t>(traffic)] += by;
    entry.held += by;
    if (watcher_ != nullptr) watcher_->after_change(gpu);
  }

  std::vector<Gpu> gpus_;
  Watcher* watcher_ = nullptr;
};

}  // namespace hoccl::sim
