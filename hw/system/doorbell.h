#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "engine/base/units.h"

namespace hoccl::hw {

/// A word that one thread sleeps on and any thread of any process rings; lies in shared memory.
/// Ringing costs no system call while nobody sleeps.
class Doorbell {
 public:
  void ring();
  /// Changes with every ring.
  [[nodiscard]] std::uint32_t rings() const { return rings_.load(std::memory_order_seq_cst); }
  /// Sleeps until somebody has rung since rings() was `seen`, at most for `timeout`.
  void wait(std::uint32_t seen, std::optional<engine::Seconds> timeout);

 private:
  std::atomic<std::uint32_t> rings_{0};
  std::atomic<std::uint32_t> sleeping_{0};
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

}  // namespace hoccl::hw
