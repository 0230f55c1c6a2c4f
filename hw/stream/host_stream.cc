#include "hw/stream/host_stream.h"

#include <utility>

namespace hoccl::hw {

HostStream::HostStream() : thread_([this] { run(); }) {}

HostStream::~HostStream() {
  stop();
  thread_.join();
}

void HostStream::stop() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
}

void HostStream::enqueue(std::function<void()> task) {
  {
    const std::scoped_lock lock(mutex_);
    tasks_.push_back(std::move(task));
    enqueued_ += 1;
  }
  changed_.notify_all();
}

void HostStream::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
    if (stopping_) return;
    const std::function<void()> task = std::move(tasks_.front());
    lock.unlock();
    task();
    lock.lock();
    tasks_.pop_front();
    done_ += 1;
    changed_.notify_all();
  }
}

void HostStream::synchronize() {
  std::unique_lock lock(mutex_);
  const std::size_t all = enqueued_;
  changed_.wait(lock, [&] { return stopping_ || done_ >= all; });
}

bool HostStream::drained() const {
  const std::scoped_lock lock(mutex_);
  return tasks_.empty();
}

}  // namespace hoccl::hw
