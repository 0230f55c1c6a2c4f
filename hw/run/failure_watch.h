#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include "engine/communicator.h"

namespace hoccl::hw {

/// Looks now and then whether an operation has failed, and then aborts its communicator: what waits
/// behind it would only fail one timeout after the other. Not a callback of the stream, which would
/// be part of what is measured.
class FailureWatch {
 public:
  /// The communicator must outlive it.
  explicit FailureWatch(engine::Communicator& communicator);
  ~FailureWatch();
  FailureWatch(const FailureWatch&) = delete;
  FailureWatch& operator=(const FailureWatch&) = delete;

  void watch(std::shared_ptr<engine::Work> work);

 private:
  void run();

  engine::Communicator& communicator_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<engine::Work>> works_;  ///< that have not ended, as far as was looked
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace hoccl::hw
