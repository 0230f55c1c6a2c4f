#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "hw/proof/activity.h"
#include "hw/proof/zero_sm_verdict.h"

namespace hoccl::hw {

struct Recording {
  std::vector<Activity> activities;  ///< by their begin
  std::int64_t lost = 0;
};

/// Records what all GPUs do for this process. One per process, because CUPTI is; ranks that are
/// threads may all use it: whoever stops last gets the records, the others get none, so merging
/// every rank's verdict counts each record once. Launches that precede the first start() are not
/// seen.
class ActivityRecorder {
 public:
  /// Throws CudaError when CUPTI refuses.
  static ActivityRecorder& instance();
  ActivityRecorder(const ActivityRecorder&) = delete;
  ActivityRecorder& operator=(const ActivityRecorder&) = delete;

  /// Throws CudaError. Slows launches down until the last stop(): time nothing in between.
  void start();
  /// All work that was launched since start() must have completed (the recorder does not wait for
  /// it: a stream may be held at a gate). Throws CudaError.
  Recording stop();

 private:
  struct State;
  ActivityRecorder();
  ~ActivityRecorder() = default;

  State* state_;  ///< never freed: CUPTI's thread may call back until the process has ended
};

/// judge() of a recording.
inline ZeroSmVerdict judge(const Recording& recording) {
  return judge(recording.activities, recording.lost);
}

}  // namespace hoccl::hw
