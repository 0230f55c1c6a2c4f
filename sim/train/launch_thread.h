#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/trace/trace.h"
#include "sim/fabric/sim_fabric.h"
#include "sim/fabric/sim_port.h"
#include "sim/machine/compute_unit.h"
#include "sim/train/step_program.h"
#include "sim/train/training_system.h"

namespace hoccl::sim {

/// What one rank's streams did in a step.
struct RankRecord {
  /// GPU start minus the end of the launch, of every kernel on the compute stream (paper, Fig. 10).
  std::vector<engine::Seconds> slack;
  struct Pass {
    PipelineSlot slot;
    engine::Seconds begin{0.0};
    engine::Seconds end{0.0};
  };
  std::vector<Pass> passes;
  /// What the compute stream stood still for, by traffic class.
  std::array<engine::Seconds, kTrafficClassCount> exposed{};
  /// Of operations: how many, and the time from their stream's arrival to their end.
  struct Operations {
    std::int64_t count = 0;
    engine::Seconds time{0.0};
    engine::Seconds longest{0.0};
  };
  std::array<Operations, kTrafficClassCount> operations;
  /// Of the registrations, on the launching thread.
  engine::Seconds registration{0.0};
  engine::Seconds launch_end{0.0};  ///< of the last item
  engine::Seconds end{0.0};         ///< of the last kernel
};

/// The training program of one rank: a thread on its own core that makes one call after the other,
/// as far ahead of the GPU as the driver's queue of launches lets it.
class LaunchThread {
 public:
  /// All must outlive it.
  LaunchThread(SimFabric& fabric, TrainingSystem& system, ComputeUnit& unit, engine::Rank rank,
               const StepProgram& program);
  LaunchThread(const LaunchThread&) = delete;
  LaunchThread& operator=(const LaunchThread&) = delete;

  void start() { next(); }
  /// All calls are made, and all that the compute stream was given has ended.
  [[nodiscard]] bool has_ended() const { return item_ == program_.items.size() && in_queue_ == 0; }
  /// Of the operations, how the first bad one ended; empty: none.
  [[nodiscard]] std::string first_error() const;
  [[nodiscard]] const RankRecord& record() const { return record_; }

 private:
  /// Makes the next call, or waits for room in the driver's queue.
  void next();
  void call(std::uint64_t item);
  void called();
  void launch_kernel(std::uint64_t item);
  void kernel_begins(std::uint64_t item);
  void kernel_ended(std::uint64_t item);
  void event_passed(std::uint64_t event) { events_[event].store(1); }
  void mark(std::uint64_t item);
  void wait_begins();
  void wait_ended(std::uint64_t traffic);
  void enqueue_wait(const StepItem& item, GpuStream& on);
  void operation_called(std::uint64_t item);
  void operation_begins(std::uint64_t item);
  void operation_ended(std::uint64_t item);

  using Work = std::shared_ptr<engine::Work>;
  Work call_messages(const StepItem& item);
  Work call_collective(const StepItem& item, engine::StreamId stream);
  Work call_tensor(const StepItem& item, engine::StreamId stream);
  Work gather(engine::CollectiveSystem& system, std::string_view pattern, const StepItem& item,
              engine::StreamId stream);
  GpuStream& stream(StepStream stream);
  engine::Region buffer(StepStream stream, engine::Bytes size);
  void trace(std::string_view name, engine::Seconds begin);

  SimFabric& fabric_;
  SimPort& port_;
  TrainingSystem& system_;
  ComputeUnit& unit_;
  engine::Rank rank_;
  const StepProgram& program_;
  LaunchConstants launch_;

  std::size_t item_ = 0;
  bool blocked_ = false;
  std::int64_t in_queue_ = 0;              ///< launches that the GPU has not ended
  std::vector<engine::Seconds> launched_;  ///< end of the launch, by item
  std::vector<engine::Seconds> begun_;     ///< by item
  std::vector<MemoryWord> events_;
  engine::Seconds wait_begin_{0.0};
  std::array<engine::Region, kStepStreamCount> buffers_{};
  std::vector<Work> works_;
  RankRecord record_;
};

}  // namespace hoccl::sim
