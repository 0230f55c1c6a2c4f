#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "engine/base/units.h"
#include "sim/machine/clock.h"
#include "sim/machine/sm_contention.h"
#include "sim/machine/sm_pool.h"

namespace hoccl::sim {

/// A kernel of the application.
struct ComputeKernel {
  engine::Seconds alone{0.0};  ///< with the whole GPU to itself
  Phase phase = Phase::kOther;
  std::int64_t tiles = 0;  ///< as in SmContention::rate
};

/// What one GPU's compute kernels met.
struct ComputeAccount {
  struct OfPhase {
    engine::Seconds active{0.0};  ///< a kernel ran
    engine::Seconds alone{0.0};   ///< the same kernels with the GPU to themselves
    /// SM-seconds that communication held meanwhile, by traffic class.
    std::array<double, kTrafficClassCount> held{};
  };
  std::array<OfPhase, kPhaseCount> phases;
  /// SM-seconds held at any time, by class.
  std::array<double, kTrafficClassCount> held_ever{};
};

/// The SMs of one GPU as its compute stream uses them: one kernel at a time, which slows down while
/// communication kernels hold SMs and bytes go through the memory.
class ComputeUnit {
 public:
  /// `memory_traffic`: bytes that copy engines and NICs have moved through the GPU's memory so far.
  /// All must outlive the unit.
  ComputeUnit(Clock& clock, const SmPool& pool, engine::GpuId gpu, const SmContention& contention,
              std::function<engine::Bytes()> memory_traffic);
  ComputeUnit(const ComputeUnit&) = delete;
  ComputeUnit& operator=(const ComputeUnit&) = delete;

  /// Begins now; calls `done` at the end. No other kernel may run.
  void start(const ComputeKernel& kernel, Callback done);
  [[nodiscard]] bool is_busy() const { return busy_; }

  /// Around every change of the SMs held on this GPU.
  void before_change() { settle(); }
  void after_change();

  /// Up to the present instant.
  const ComputeAccount& account();

 private:
  /// Books the time since the last call at the present rate.
  void settle();
  [[nodiscard]] double present_rate() const;
  void plan_end();
  void end_reached();

  Clock& clock_;
  const SmPool& pool_;
  engine::GpuId gpu_;
  const SmContention& contention_;
  std::function<engine::Bytes()> memory_traffic_;

  ComputeAccount account_;
  ComputeKernel kernel_;
  Callback done_;
  bool busy_ = false;
  double rate_ = 1.0;             ///< since settled_
  engine::Seconds left_{0.0};     ///< of the kernel, at rate 1
  engine::Seconds settled_{0.0};  ///< instant up to which all is booked
  engine::Bytes traffic_;         ///< that the kernel has been delayed for
  EventId end_;
};

/// Tells the GPUs' units when what is held changes.
class ComputeUnits : public SmPool::Watcher {
 public:
  explicit ComputeUnits(std::vector<std::unique_ptr<ComputeUnit>> units)
      : units_(std::move(units)) {}
  [[nodiscard]] ComputeUnit& of(engine::GpuId gpu) { return *units_[gpu.index()]; }
  void before_change(engine::GpuId gpu) override { of(gpu).before_change(); }
  void after_change(engine::GpuId gpu) override { of(gpu).after_change(); }

 private:
  std::vector<std::unique_ptr<ComputeUnit>> units_;  ///< by GPU
};

}  // namespace hoccl::sim
