#include "hw/stream/gate_words.h"

#include <algorithm>

namespace hoccl::hw {

using engine::Gate;
using engine::Sequence;

void GateWords::open(Gate gate, Sequence sequence) {
  {
    const std::scoped_lock lock(mutex_);
    Sequence& opened = opened_[gate];
    opened = std::max(opened, sequence);
  }
  changed_.notify_all();
}

bool GateWords::wait(Gate gate, Sequence sequence) {
  std::unique_lock lock(mutex_);
  const Sequence& opened = opened_[gate];
  const auto waiter = waiters_.insert(waiters_.end(), {&opened, sequence});
  changed_.wait(lock, [&] { return closing_ || opened >= sequence; });
  waiters_.erase(waiter);
  return opened >= sequence;
}

int GateWords::waiting() const {
  const std::scoped_lock lock(mutex_);
  return static_cast<int>(std::ranges::count_if(
      waiters_, [](const Waiter& waiter) { return *waiter.opened < waiter.sequence; }));
}

void GateWords::close_down() {
  {
    const std::scoped_lock lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
}

}  // namespace hoccl::hw
