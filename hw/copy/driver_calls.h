#pragma once

#include <array>
#include <cstdint>

#include "engine/base/units.h"
#include "engine/fabric.h"

namespace hoccl::hw {

/// What calls of a GPU's driver took a proxy: in use, which is more than in a loop that does
/// nothing else.
struct DriverCalls {
  /// No call takes so long but the first of a stream and one whose thread is stopped meanwhile.
  static constexpr engine::Seconds kInterrupted{50e-6};

  struct Calls {
    std::int64_t count = 0;
    engine::Seconds time{0.0};

    void add(engine::Seconds took) {
      if (took > kInterrupted) return;
      count += 1;
      time += took;
    }
    void merge(const Calls& other) {
      count += other.count;
      time += other.time;
    }
  };
  /// Sums from which a batch's cost and that of each of its copies can be fitted.
  struct Batches {
    double count = 0;
    double copies = 0;
    double squares = 0;      ///< of the copies of a batch
    double time = 0;         ///< seconds
    double copies_time = 0;  ///< copies of a batch times its seconds

    void add(double size, engine::Seconds took) {
      if (took > kInterrupted) return;
      count += 1;
      copies += size;
      squares += size * size;
      time += took.count();
      copies_time += size * took.count();
    }
    void merge(const Batches& other) {
      count += other.count;
      copies += other.copies;
      squares += other.squares;
      time += other.time;
      copies_time += other.copies_time;
    }
  };

  void merge(const DriverCalls& other) {
    for (std::size_t i = 0; i < alone.size(); ++i) {
      alone.at(i).merge(other.alone.at(i));
      batches.at(i).merge(other.batches.at(i));
    }
    event.merge(other.event);
    pending.merge(other.pending);
    done.merge(other.done);
  }

  std::array<Calls, engine::kCopyClassCount> alone;      ///< copies, by class
  std::array<Batches, engine::kCopyClassCount> batches;  ///< of two and more copies, by class
  Calls event;                                           ///< recorded behind copies
  Calls pending;  ///< questions about an event that has not happened
  Calls done;     ///< questions that find it has
};

}  // namespace hoccl::hw
