#pragma once

#include <condition_variable>
#include <list>
#include <map>
#include <mutex>

#include "engine/fabric.h"

namespace hoccl::hw {

/// How far each gate is open. Streams sleep here.
class GateWords {
 public:
  void open(engine::Gate gate, engine::Sequence sequence);
  /// Blocks until the gate is open that far. False when close_down() came first.
  bool wait(engine::Gate gate, engine::Sequence sequence);
  /// Lets everybody go who waits.
  void close_down();
  /// Threads in wait() whose gate is not open.
  [[nodiscard]] int waiting() const;

 private:
  struct Waiter {
    const engine::Sequence* opened;
    engine::Sequence sequence;
  };

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<engine::Gate, engine::Sequence> opened_;
  std::list<Waiter> waiters_;
  bool closing_ = false;
};

}  // namespace hoccl::hw
