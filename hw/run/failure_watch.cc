#include "hw/run/failure_watch.h"

#include <chrono>
#include <utility>

namespace hoccl::hw {
namespace {

/// Short against any timeout, and so long that a measurement does not notice.
constexpr std::chrono::milliseconds kInterval(20);

}  // namespace

FailureWatch::FailureWatch(engine::Communicator& communicator)
    : communicator_(communicator), thread_([this] { run(); }) {}

FailureWatch::~FailureWatch() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void FailureWatch::watch(std::shared_ptr<engine::Work> work) {
  {
    const std::scoped_lock lock(mutex_);
    works_.push_back(std::move(work));
    if (works_.size() > 1) return;
  }
  changed_.notify_all();
}

void FailureWatch::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || !works_.empty(); });
    changed_.wait_for(lock, kInterval, [this] { return stopping_; });
    if (stopping_) return;
    while (!works_.empty()) {
      const auto status = works_.front()->status();
      if (!status) break;
      if (!status->ok() && status->cause != engine::Cause::kAborted) communicator_.abort();
      works_.pop_front();
    }
  }
}

}  // namespace hoccl::hw
