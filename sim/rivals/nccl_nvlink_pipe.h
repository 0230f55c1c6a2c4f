#pragma once

#include "sim/calibration/calibration.h"
#include "sim/rivals/nccl_pipe.h"

namespace hoccl::sim {

/// Within a node: the sender's SM stores into a FIFO in the receiver's memory, the receiver's SM
/// copies out of it. User buffers that are not registered go through the FIFO (NCCL 2.30,
/// src/transport/p2p.cc: one buffer per connection).
class NcclNvlinkPipe : public NcclPipe {
 public:
  NcclNvlinkPipe(const NcclConstants& constants, RouteId route)
      : NcclPipe(constants.nvlink_step, constants.fifo_slots), route_(route) {}

  [[nodiscard]] std::optional<RouteId> copy_route(bool sending) const override {
    return sending ? std::optional(route_) : std::nullopt;
  }

 private:
  // The flags' way over NVLink is part of a step's overhead.
  void on_written(engine::Bytes size) override { slot_filled(size); }
  void on_drained() override { slot_freed(); }

  RouteId route_;
};

}  // namespace hoccl::sim
