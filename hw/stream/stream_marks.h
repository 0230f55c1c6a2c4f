#pragma once

#include <deque>

#include "engine/fabric.h"

namespace hoccl::hw {

/// The gate marks that one stream holds, in its order: tells whether it stands at a closed gate.
class StreamMarks {
 public:
  enum class Kind : std::uint8_t { kReady, kWait };

  void add(Kind kind, engine::Gate gate, engine::Sequence sequence) {
    marks_.push_back({kind, gate, sequence});
  }

  /// Forgets what the stream has passed. `reached(gate)` and `opened(gate)`: the last ready mark
  /// that was passed, and the last sequence that the gate is open for.
  template <class Reached, class Opened>
  void pass(Reached reached, Opened opened) {
    while (!marks_.empty()) {
      const Mark& first = marks_.front();
      const engine::Sequence passed =
          first.kind == Kind::kReady ? reached(first.gate) : opened(first.gate);
      if (passed < first.sequence) return;
      marks_.pop_front();
    }
  }

  /// After pass(): all before the next mark is done, and that is a gate not open yet.
  [[nodiscard]] bool at_closed_gate() const {
    return !marks_.empty() && marks_.front().kind == Kind::kWait;
  }

 private:
  struct Mark {
    Kind kind;
    engine::Gate gate;
    engine::Sequence sequence;
  };
  std::deque<Mark> marks_;
};

}  // namespace hoccl::hw
