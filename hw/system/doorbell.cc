#include "hw/system/doorbell.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cmath>
#include <ctime>

namespace hoccl::hw {
namespace {

/// Longest sleep; whoever wants more sleeps again. Keeps the time in range of a timespec.
constexpr engine::Seconds kLongest(3600.0);

timespec to_timespec(engine::Seconds time) {
  const double seconds = std::clamp(time.count(), 0.0, kLongest.count());
  timespec result = {};
  result.tv_sec = static_cast<time_t>(seconds);
  result.tv_nsec = static_cast<long>((seconds - std::floor(seconds)) * 1e9);
  return result;
}

/// Shared between processes, so without FUTEX_PRIVATE_FLAG.
void futex(std::atomic<std::uint32_t>* word, int operation, std::uint32_t value,
           const timespec* timeout) {
  ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(word), operation, value, timeout, nullptr,
            0);
}

}  // namespace

void Doorbell::ring() {
  // Sequentially consistent on both sides: either the sleeper sees this ring, or we see the
  // sleeper.
  rings_.fetch_add(1, std::memory_order_seq_cst);
  if (sleeping_.load(std::memory_order_seq_cst) == 0) return;
  futex(&rings_, FUTEX_WAKE, INT_MAX, nullptr);
}

void Doorbell::wait(std::uint32_t seen, std::optional<engine::Seconds> timeout) {
  sleeping_.store(1, std::memory_order_seq_cst);
  if (rings() == seen) {
    const timespec limit = to_timespec(timeout.value_or(kLongest));
    futex(&rings_, FUTEX_WAIT, seen, &limit);
  }
  sleeping_.store(0, std::memory_order_seq_cst);
}

}  // namespace hoccl::hw
