#pragma once

#include <memory>
#include <string>

#include "engine/base/units.h"
#include "engine/pipeline/options.h"
#include "hw/fabric/hw_fabric.h"

namespace hoccl::hw {

/// The driver of one rank's proxy: steps it on a thread of its own whenever something happens or
/// its deadline comes; in between it spins briefly, then sleeps.
class ProxyThread {
 public:
  /// The fabric must outlive it. `port` stands in for the fabric's own where a test wraps it.
  ProxyThread(HwFabric& fabric, const engine::PipelineOptions& options,
              engine::Port* port = nullptr);
  ~ProxyThread();

  /// As of the end of the last step; from any thread.
  [[nodiscard]] bool quiescent() const;
  /// CPU time the thread has used.
  [[nodiscard]] engine::Seconds cpu_time() const;
  /// CPU time it has spent in post_copy, flush and post_write.
  [[nodiscard]] engine::Seconds submit_time() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hoccl::hw
