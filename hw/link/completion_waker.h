#pragma once

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "hw/system/doorbell.h"
#include "hw/system/file_descriptor.h"
#include "hw/verbs/nic.h"

namespace hoccl::hw {

/// A thread that sleeps until an armed NIC has completions, and then rings the proxy's doorbell.
/// While something waits for time to pass it also rings at intervals.
class CompletionWaker {
 public:
  CompletionWaker(const std::vector<std::unique_ptr<Nic>>& nics, Doorbell& doorbell);
  ~CompletionWaker();

  /// From any thread.
  void ring_at_intervals(bool wanted);

 private:
  void run();
  void ring_self() const;

  const std::vector<std::unique_ptr<Nic>>& nics_;
  Doorbell& doorbell_;
  FileDescriptor wake_;
  std::atomic<bool> at_intervals_{false};
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace hoccl::hw
