#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <vector>

#include "hw/copy/copy_engine.h"
#include "hw/copy/cuda_copy_clock.h"
#include "hw/cuda/copy_batch_raii.h"
#include "hw/cuda/cuda_raii.h"
#include "hw/cuda/row_copies_raii.h"
#include "hw/trace/leg_trace.h"

namespace hoccl::hw {

/// The copy engines of a CUDA GPU. A lane is a stream; what is flushed of it together is one call
/// and one batch, because an engine that finds its next copy in the same batch pays its set-up once
/// (measured on an H200: 1.9 us alone, 0.2 us in a batch of 8). Copies inside a batch are
/// unordered, so a batch completes as one, told by one event behind it.
class CudaCopyEngine final : public CopyEngine {
 public:
  /// `strict`: posting a copy that the driver would give to SMs is a programming error, because the
  /// plan was to be refused.
  CudaCopyEngine(int device, bool strict, LegTrace& trace);
  ~CudaCopyEngine() override;

  engine::Ticket post(engine::Lane lane, Copy copy) override;
  void flush() override;
  std::optional<engine::CopiesDone> poll() override;
  [[nodiscard]] bool must_be_polled() const override { return in_flight_.load() > 0; }
  [[nodiscard]] bool idle() const override;
  void hand_over_singly(bool singly) override { singly_.store(singly); }
  [[nodiscard]] std::optional<engine::DriverUse> driver_use() const override { return use_; }
  [[nodiscard]] const DriverCalls* driver_calls() const override { return &calls_; }

 private:
  /// One call.
  struct Batch {
    std::vector<Copy> copies;  ///< they keep their memory mapped
    std::int64_t last = 0;     ///< ticket
    CudaEvent end;
    std::optional<CudaCopyClock::Begin> begin;  ///< while legs are traced
  };
  struct LaneState {
    /// Behind a stream of the application that stands at a gate in the same queue of the hardware
    /// it would stand as well, and the gate opens only when these copies are done.
    CudaStream stream{CudaStream::Priority::kHighest};
    std::vector<Copy> open;
    std::deque<Batch> in_flight;
    std::int64_t posted = 0;
    std::int64_t reported = 0;
    bool is_broken = false;  ///< its copies have failed and will go on failing
  };

  LaneState& lane_of(engine::Lane id);
  void hand_over(engine::Lane id, LaneState& lane);
  std::vector<Copy> take_list();
  void call(engine::CopyClass copy_class, const std::vector<Copy>& copies, cudaStream_t stream);
  CudaEvent take_event();
  /// Whether the first batch has ended; sets is_broken.
  bool has_ended(LaneState& lane);
  std::optional<engine::CopiesDone> poll_lane(engine::Lane id, LaneState& lane);
  void finish(engine::Lane id, Batch& batch);

  const int device_;
  const bool strict_;
  LegTrace& trace_;
  CudaCopyClock clock_;
  mutable std::mutex lanes_mutex_;  ///< the map's shape, for idle()
  std::map<engine::Lane, LaneState> lanes_;
  /// Of the present round of poll(); the end when there is none.
  std::map<engine::Lane, LaneState>::iterator next_to_ask_ = lanes_.end();
  std::vector<CudaEvent> free_events_;
  std::atomic<std::size_t> in_flight_{0};  ///< batches; written by the posting thread
  engine::DriverUse use_;
  DriverCalls calls_;
  std::atomic<bool> singly_{false};
  std::array<engine::Seconds, engine::kCopyClassCount> engine_free_{};  ///< of traced copies
  // Emptied, and kept for their memory.
  CopyBatch call_;
  RowCopies rows_;
  std::vector<std::vector<Copy>> free_lists_;
};

}  // namespace hoccl::hw
