#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "engine/base/ids.h"
#include "hw/node/record_ring.h"
#include "hw/system/doorbell.h"
#include "hw/system/shared_memory.h"

namespace hoccl::hw {

/// The shared memory of one rank, mapped by all ranks of the host: how it is woken, what others
/// tell it, and whether foreground work of its streams is under way.
class RankSegment {
 public:
  /// Streams of one process that can carry foreground work.
  static constexpr std::size_t kForegroundWords = 64;
  /// Two directions of as many GPUs as a descriptor has bits for local targets.
  static constexpr std::size_t kCopyWords = 2 * 96;

  static RankSegment create(engine::Rank rank, int rank_count);
  static RankSegment attach(FileDescriptor descriptor, int rank_count);
  static engine::Bytes size_for(int rank_count);

  RankSegment() = default;
  [[nodiscard]] explicit operator bool() const { return static_cast<bool>(memory_); }
  [[nodiscard]] int descriptor() const { return memory_.descriptor(); }
  [[nodiscard]] std::span<std::byte> bytes() const {
    return {memory_.data(), static_cast<std::size_t>(memory_.size().count())};
  }
  [[nodiscard]] Doorbell& doorbell() const { return head().doorbell; }
  /// Written by the owner's streams only, in stream order: 1 while foreground work is under way.
  [[nodiscard]] std::atomic<std::uint32_t>& foreground(std::size_t word) const {
    return head().foreground[word];
  }
  /// How many of those words the owner's streams have; the others stay zero. Grows before a stream
  /// writes its word.
  [[nodiscard]] std::atomic<std::uint32_t>& foreground_words() const {
    return head().foreground_words;
  }
  /// Written by the owner's proxy only: see CopyBoard.
  [[nodiscard]] std::atomic<std::int32_t>& copies(std::size_t word) const {
    return head().copies[word];
  }
  /// What `sender` tells the owner.
  [[nodiscard]] RecordRing& ring_from(engine::Rank sender) const {
    return reinterpret_cast<RecordRing*>(begin_ + sizeof(Head))[sender.index()];
  }

 private:
  struct alignas(64) Head {
    Doorbell doorbell;
    alignas(64) std::atomic<std::uint32_t> foreground_words;
    alignas(64) std::array<std::atomic<std::uint32_t>, kForegroundWords> foreground;
    alignas(64) std::array<std::atomic<std::int32_t>, kCopyWords> copies;
  };
  explicit RankSegment(SharedMemory memory) : memory_(std::move(memory)), begin_(memory_.data()) {}
  [[nodiscard]] Head& head() const { return *reinterpret_cast<Head*>(begin_); }

  SharedMemory memory_;
  std::byte* begin_ = nullptr;
};

}  // namespace hoccl::hw
