#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "hw/copy/copy_engine.h"
#include "hw/trace/leg_trace.h"

namespace hoccl::hw {

/// Worker threads with memcpy in place of the copy engines of a GPU, so that the testbed runs
/// anywhere. One group of workers per copy class, as a GPU has an engine per class; the lanes of a
/// class take turns.
class HostCopyEngine final : public CopyEngine {
 public:
  /// `wake` is called after each completion, from any worker.
  HostCopyEngine(int threads_per_class, std::function<void()> wake, LegTrace& trace);
  ~HostCopyEngine() override;

  engine::Ticket post(engine::Lane lane, Copy copy) override;
  void flush() override;
  std::optional<engine::CopiesDone> poll() override;
  [[nodiscard]] bool idle() const override;

 private:
  struct LaneState {
    explicit LaneState(engine::Lane id) : lane(id) {}
    const engine::Lane lane;
    std::vector<Copy> open;     ///< posting thread
    std::int64_t posted = 0;    ///< posting thread
    std::int64_t reported = 0;  ///< posting thread
    std::deque<Copy> queue;     ///< under the class's mutex
    bool served = false;        ///< a worker has it; under the class's mutex
    std::atomic<std::int64_t> handed_over{0};
    std::atomic<std::int64_t> done{0};
  };
  /// The engine of one copy class.
  struct Class {
    mutable std::mutex mutex;
    std::condition_variable changed;
    std::deque<LaneState*> ready;  ///< lanes with copies that no worker serves, in turns
    bool stopping = false;
    std::vector<std::thread> workers;  ///< started with the first copy
  };

  void work(Class& of_class);
  void hand_over(LaneState& lane);

  const int threads_per_class_;
  const std::function<void()> wake_;
  LegTrace& trace_;
  std::array<Class, engine::kCopyClassCount> classes_;
  mutable std::mutex lanes_mutex_;  ///< the map's shape, for idle()
  std::map<engine::Lane, std::unique_ptr<LaneState>> lanes_;
};

}  // namespace hoccl::hw
