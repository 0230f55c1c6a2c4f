#pragma once

#include <optional>
#include <string_view>

#include "engine/base/ids.h"
#include "engine/base/units.h"
#include "sim/machine/callback.h"
#include "sim/rivals/nccl_environment.h"

namespace hoccl::sim {

/// One SM's copy loop: per slice a step's overhead (wait for the flag, fence, set the flag), then
/// the bytes at no more than one channel's rate.
class NcclCopyLoop {
 public:
  NcclCopyLoop(const NcclEnvironment& environment, engine::Rank rank, int channel)
      : environment_(environment), rank_(rank), channel_(channel) {}
  NcclCopyLoop(const NcclCopyLoop&) = delete;
  NcclCopyLoop& operator=(const NcclCopyLoop&) = delete;

  /// One at a time. `route`: the links it crosses, or none for a copy within the GPU's memory.
  /// `name` is what the timeline calls it, and must outlive the copy.
  void copy(std::optional<RouteId> route, engine::Bytes size, std::string_view name,
            Callback copied);

 private:
  void start();
  void end();

  const NcclEnvironment& environment_;
  engine::Rank rank_;
  int channel_;
  std::optional<RouteId> route_;
  engine::Bytes size_;
  std::string_view name_;
  Callback copied_;
  engine::Seconds begin_{0.0};
};

}  // namespace hoccl::sim
