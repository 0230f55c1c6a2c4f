#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace hoccl::hw {

/// A FIFO of work on a thread of its own: stands in for a CUDA stream.
class HostStream {
 public:
  HostStream();
  /// Ends after the task that is running; what is behind it never runs.
  ~HostStream();

  /// Nothing more is started. Does not wait for the task that is running.
  void stop();
  /// From any thread; returns at once.
  void enqueue(std::function<void()> task);
  /// Blocks until everything enqueued so far is done.
  void synchronize();
  /// Nothing is enqueued or running.
  [[nodiscard]] bool drained() const;

 private:
  void run();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;  ///< the first one may be running
  std::size_t enqueued_ = 0;
  std::size_t done_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace hoccl::hw
