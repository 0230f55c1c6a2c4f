#pragma once

#include <vector>

#include "engine/base/units.h"
#include "sim/machine/clock.h"

namespace hoccl::sim {

/// What the GPU driver does for one process under a lock (hw/GOTCHAS.md): of the calls that
/// threads of it make at the same time, each waits for its turn.
class DriverLock {
 public:
  explicit DriverLock(const Clock& clock) : clock_(clock) {}

  /// A turn that begins at `earliest` or at the first later time from which the lock is free for
  /// as long; returns when. Threads are simulated one after the other, each ahead of the clock, so
  /// turns are not asked for in their order.
  engine::Seconds take(engine::Seconds earliest, engine::Seconds duration);

 private:
  struct Turn {
    engine::Seconds begin;
    engine::Seconds end;
  };

  const Clock& clock_;
  std::vector<Turn> turns_;  ///< in their order; none that has ended
};

}  // namespace hoccl::sim
