#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace hoccl::hw {

/// What one rank tells another through shared memory: a control message, or the arrival of a write.
struct Record {
  /// Probes go between the links of two ranks only, to see whether a path works.
  enum class Kind : std::uint32_t { kMessage = 1, kArrival = 2, kProbe = 3 };
  Kind kind = Kind::kMessage;
  std::int32_t local_nic = -1;   ///< arrivals: of the receiver
  std::int32_t remote_nic = -1;  ///< arrivals: of the sender
  std::uint32_t immediate = 0;   ///< arrivals
  /// The Message, or the Descriptor of the arrival.
  std::array<std::byte, 64> payload{};
};

/// Records from one rank to another, oldest first. One pushing thread at a time, one popping
/// thread. Lies in shared memory that is zero at first; the popping side trusts nothing it reads.
class RecordRing {
 public:
  static constexpr std::uint64_t kCapacity = 256;

  /// False when full; then the popping side is asked to say when there is room again.
  bool push(const Record& record) {
    const std::uint64_t pushed = pushed_.load(std::memory_order_relaxed);
    // The popping side's index lies in its core's cache: it is fetched only when it is needed.
    if (pushed - known_popped_ >= kCapacity && is_full(pushed)) {
      room_wanted_.store(1, std::memory_order_seq_cst);
      if (is_full(pushed)) return false;
    }
    std::memcpy(static_cast<void*>(&records_[pushed % kCapacity]), &record, sizeof(Record));
    pushed_.store(pushed + 1, std::memory_order_release);
    return true;
  }

  enum class Popped : std::uint8_t { kNothing, kRecord, kGarbage };
  /// kGarbage: the indices are impossible, so the other side is broken.
  Popped pop(Record& record) {
    const std::uint64_t popped = popped_.load(std::memory_order_relaxed);
    const std::uint64_t waiting = pushed_.load(std::memory_order_acquire) - popped;
    if (waiting == 0) return Popped::kNothing;
    if (waiting > kCapacity) return Popped::kGarbage;
    std::memcpy(static_cast<void*>(&record), &records_[popped % kCapacity], sizeof(Record));
    popped_.store(popped + 1, std::memory_order_seq_cst);
    return Popped::kRecord;
  }
  [[nodiscard]] bool is_empty() const {
    return pushed_.load(std::memory_order_acquire) == popped_.load(std::memory_order_relaxed);
  }
  /// Popping side: whether the pushing one waits for room; forgets it.
  bool take_room_wanted() {
    return room_wanted_.load(std::memory_order_seq_cst) != 0 &&
           room_wanted_.exchange(0, std::memory_order_seq_cst) != 0;
  }

 private:
  [[nodiscard]] bool is_full(std::uint64_t pushed) {
    known_popped_ = popped_.load(std::memory_order_seq_cst);
    return pushed - known_popped_ >= kCapacity;
  }

  alignas(64) std::atomic<std::uint64_t> pushed_;
  std::uint64_t known_popped_;  ///< of the pushing side
  alignas(64) std::atomic<std::uint64_t> popped_;
  alignas(64) std::atomic<std::uint32_t> room_wanted_;
  alignas(64) std::array<Record, kCapacity> records_;
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace hoccl::hw
