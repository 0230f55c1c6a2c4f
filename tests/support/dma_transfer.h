#pragma once

#include <cstddef>
#include <vector>

#include "tests/support/ideal_memory.h"

namespace hoccl::engine {

/// One copy or write, from its post until its initiator has polled its completion. It may read its
/// source and write its target at any time in between, so that both are taken all that time.
class DmaTransfer {
 public:
  DmaTransfer(IdealMemory& memory, const Region& source, const Region& target,
              const Accessor& accessor);

  /// The target's bytes are garbage from here on.
  void start();
  /// Reads the source. Whoever changes it before store() is caught there.
  void sample();
  /// Moves the bytes. `reads`: how often they will be read, if the target is a slot.
  void store(int reads);
  /// The target belongs to others again: it has landed, and the one who hosts it will be told.
  void release_target();
  /// The initiator has seen the end.
  void release();
  /// No byte moves any more.
  void cancel() { cancelled_ = true; }

  void set_failing() { failing_ = true; }
  [[nodiscard]] bool failing() const { return failing_; }
  [[nodiscard]] bool cancelled() const { return cancelled_; }
  [[nodiscard]] const OperationId& operation() const { return accessor_.tag.operation; }
  [[nodiscard]] Ticket ticket() const { return accessor_.ticket; }
  [[nodiscard]] Bytes size() const { return source_.size; }

 private:
  IdealMemory& memory_;
  Region source_;
  Region target_;
  Accessor accessor_;
  IdealMemory::AccessId reading_;
  IdealMemory::AccessId writing_;
  std::vector<std::byte> sample_;
  bool target_released_ = false;
  bool stored_ = false;
  bool failing_ = false;
  bool cancelled_ = false;
};

}  // namespace hoccl::engine
