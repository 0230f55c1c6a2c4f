#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "engine/fabric.h"
#include "engine/pipeline/messages.h"
#include "engine/pipeline/options.h"

namespace hoccl::engine {

struct SourceFlow;
struct TargetFlow;

/// A copy on its way through an engine, and whose chunk it is.
struct CopyJob {
  CopyRequest request;
  SourceFlow* source_flow = nullptr;  ///< stage-in and direct
  TargetFlow* target_flow = nullptr;  ///< deliver
  SlotReference slot;                 ///< stage-in: the send slot
  Descriptor landed;                  ///< deliver: the chunk and where it lies
};

/// Posts copies on the lanes of this GPU's engines and matches their cumulative completions. Keeps
/// at most `quantum` copies ahead of each engine, because an engine is FIFO and blind to priority:
/// whatever is posted cannot be overtaken.
class CopyQueue {
 public:
  CopyQueue(Port& port, const PipelineOptions& options);

  /// Below the quantum; and where batches are adaptive some lane has fewer than two of them: one
  /// runs, one waits behind it, and what becomes ready meanwhile will be the next. So batches are
  /// as large as the engine is late, and do not stay small because they once were.
  [[nodiscard]] bool has_room(CopyClass copy_class) const;
  /// Posts on the least loaded lane of the engine. Needs room. Where batches are adaptive, the
  /// copy's batch ends up with no more than `batch_limit` copies, and no more than half of the
  /// quantum, but two.
  void post(CopyClass copy_class, const CopyJob& job, std::int64_t batch_limit);
  /// Ends the batches that are open.
  void flush();

  /// A job that ended, and whether its copy failed.
  struct Ended {
    CopyJob job;
    Outcome outcome;
    Lane lane;
  };
  /// Appends the jobs a completion ends, oldest first.
  void complete(const CopiesDone& done, std::vector<Ended>& ended);

  [[nodiscard]] bool idle() const;
  [[nodiscard]] int in_flight(CopyClass copy_class) const {
    return engines_[static_cast<std::size_t>(copy_class)].in_flight;
  }

 private:
  struct LaneState {
    Ticket last_done{0};
    Ticket last_posted{0};
    std::deque<CopyJob> in_flight;
    std::int64_t open = 0;           ///< of them: not handed over yet
    std::deque<Ticket> handed_over;  ///< the last ticket of each batch that has not completed
    [[nodiscard]] bool is_full() const { return handed_over.size() >= 2; }
  };
  struct Engine {
    std::vector<LaneState> lanes;
    int in_flight = 0;
  };

  [[nodiscard]] bool adaptive() const { return options_.batch == 0; }
  [[nodiscard]] Engine& engine(CopyClass copy_class) {
    return engines_[static_cast<std::size_t>(copy_class)];
  }

  Port& port_;
  const PipelineOptions& options_;
  std::array<Engine, kCopyClassCount> engines_;
  int unflushed_ = 0;
};

}  // namespace hoccl::engine
