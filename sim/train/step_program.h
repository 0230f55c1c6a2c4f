#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/ids.h"
#include "sim/calibration/calibration.h"
#include "sim/machine/compute_unit.h"
#include "sim/machine/traffic_class.h"
#include "sim/train/pipeline_slots.h"
#include "sim/train/training_setup.h"

namespace hoccl::sim {

/// Streams of one rank. Messages of the pipeline have one stream per direction and side, because
/// Megatron-LM's sends and receives that overlap with compute are kernels of their own; a group of
/// them is on `kMessages`.
enum class StepStream : std::uint8_t {
  kCompute,
  kForwardReceive,
  kForwardSend,
  kBackwardReceive,
  kBackwardSend,
  kMessages,
  kData,
};
inline constexpr std::size_t kStepStreamCount = 7;

enum class StepAction : std::uint8_t {
  kKernel,
  kRecord,        ///< an event, when the stream is here
  kWait,          ///< for an event
  kSlotBegin,     ///< a mark: the slot's first kernel comes next
  kSlotEnd,       ///< a mark: the slot's last kernel has ended
  kMessages,      ///< sends and receives of the pipeline, as one call
  kTensorGather,  ///< AllGather of activations, foreground
  kTensorReduce,  ///< ReduceScatter of activations, foreground
  kExpertAllToAll,
  kParameterGather,
  kGradientReduce,
  kNorm,  ///< AllReduce of one number among all ranks
};

/// One message of the pipeline.
struct StepMessage {
  bool sends = true;
  engine::Rank peer;
};

/// One call of the training program's launching thread.
struct StepItem {
  StepAction action = StepAction::kKernel;
  StepStream stream = StepStream::kCompute;
  ComputeKernel kernel = {};
  int launches = 1;
  int event = -1;  ///< kRecord, kWait
  /// kWait: whom it waits for.
  TrafficClass traffic = TrafficClass::kOther;
  int slot = -1;
  std::vector<StepMessage> messages = {};
  bool forward = true;   ///< of messages: activations, else their gradients
  bool experts = false;  ///< of gathers and reductions: among the ranks with the same experts
  /// Per message; of a collective, of the whole result or of what is reduced.
  engine::Bytes size = {};
};

/// What one rank does in one step.
struct StepProgram {
  std::vector<PipelineSlot> slots;
  std::vector<StepItem> items;
  int events = 0;
};

/// Which parts of a step's communication there are.
struct StepOptions {
  /// Sends and receives that belong together are one call, on one stream.
  bool group_messages = false;
  /// Off: messages keep their order and take no time; there is nothing else.
  bool communication = true;
};

StepProgram make_step(const TrainingSetup& setup, const Calibration& machine, engine::Rank rank,
                      const StepOptions& options);

}  // namespace hoccl::sim
