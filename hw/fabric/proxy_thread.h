#pragma once

#include <memory>
#include <optional>
#include <string>

#include "engine/base/units.h"
#include "engine/pipeline/options.h"
#include "engine/run_result.h"
#include "hw/fabric/hw_fabric.h"
#include "hw/fabric/step_record.h"

namespace hoccl::hw {

/// The driver of one rank's proxy: steps it on a thread of its own whenever something happens or
/// its deadline comes; in between it spins briefly, then sleeps. While a GPU is at work, which
/// rings no bell, it goes on stepping.
class ProxyThread {
 public:
  /// The fabric must outlive it. `port` stands in for the fabric's own where a test wraps it;
  /// `steps`, if not null, is told of every step until the proxy is destroyed.
  ProxyThread(HwFabric& fabric, const engine::PipelineOptions& options,
              engine::Port* port = nullptr, StepRecord* steps = nullptr);
  ~ProxyThread();

  /// As of the end of the last step; from any thread.
  [[nodiscard]] bool quiescent() const;
  /// CPU time the thread has used; with a GPU that of the steps in which it did or heard anything,
  /// because in between it spins.
  [[nodiscard]] engine::Seconds cpu_time() const;
  /// CPU time it has spent in post_copy, flush and post_write.
  [[nodiscard]] engine::Seconds submit_time() const;
  /// What it has asked the GPU's driver for; the time is that of the same steps.
  [[nodiscard]] std::optional<engine::DriverUse> driver_use() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hoccl::hw
