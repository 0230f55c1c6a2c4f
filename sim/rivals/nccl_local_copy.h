#pragma once

#include "sim/calibration/calibration.h"
#include "sim/rivals/nccl_pipe.h"

namespace hoccl::sim {

/// A message of a rank to itself: the SM copies within its GPU's memory, and nobody waits.
class NcclLocalCopy : public NcclPipe {
 public:
  explicit NcclLocalCopy(const NcclConstants& constants)
      : NcclPipe(constants.nvlink_step, constants.fifo_slots) {}

  [[nodiscard]] std::optional<RouteId> copy_route(bool) const override { return std::nullopt; }

 private:
  void on_written(engine::Bytes) override { slot_freed(); }
  void on_drained() override {}
};

}  // namespace hoccl::sim
