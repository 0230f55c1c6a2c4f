#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/base/units.h"
#include "engine/pipeline/options.h"
#include "engine/schedule/compile.h"
#include "engine/schedule/plan.h"
#include "engine/topology/topology.h"
#include "engine/traffic.h"
#include "sim/calibration/calibration.h"
#include "sim/machine/network.h"

namespace hoccl::sim {

/// Everything that decides the outcome of a simulation but the message size.
struct Scenario {
  engine::Topology topology;
  Calibration calibration;
  std::string system = "hoccl";  ///< or "nccl:<k>sm", "nccl:zero", "vccl"

  engine::Traffic traffic = {};
  engine::CompileOptions compile = {};
  /// Executed instead of what the traffic compiles to; fixes pattern and size.
  std::optional<engine::Plan> plan = {};

  /// Buffers that change from operation to operation: registered anew, where a system needs that.
  bool dynamic_buffers = false;
  /// Buffers that cannot be registered: VCCL stages them.
  bool unregistered_buffers = false;
  /// Work requests of writes are built ahead of time.
  bool prebuilt_writes = false;
  /// Share of registrations that find the driver busy, 0 to 1.
  double busy_driver = 0.0;
  /// NCCL's messages between nodes leave through the NIC of the receiver's rail.
  bool pxn = true;
  engine::PipelineOptions pipeline = {};
  int slots = 16;  ///< send slots and receive slots, each, of every staging place
  /// All ranks are threads of one process, whose calls of the GPU driver take turns.
  bool one_process = false;
  NetworkKind network = NetworkKind::kFluid;
  std::uint64_t seed = 1;

  /// Iterations before the measured ones: the first exports and imports user buffers.
  int warmup = 1;
  int iterations = 1;
  /// The measured iterations are enqueued one behind the other while the first ones already run, as
  /// `hoccl run` and nccl-tests do: launches are part of the time, and a rank that is done begins
  /// the next one; the time ends when the last proxy ends the last one. Else each is enqueued ahead
  /// of its time and runs alone.
  bool back_to_back = false;
};

/// One chunk at a time: one copy ahead of one lane, one slot, one queue pair, no batches, so that
/// the next chunk is posted only when the previous one is complete end to end. What the paper's
/// pipeline is compared with (§1: unpipelined start-up costs over 20%).
void switch_pipelining_off(engine::PipelineOptions& pipeline, int& slots);

}  // namespace hoccl::sim
