#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "engine/base/ids.h"

namespace hoccl::hw {

/// What a rank's send buffer holds in one operation: every 8-byte word tells the rank, the
/// operation and the position, so that a chunk in the wrong place, twice, or of another operation
/// is seen.
class ByteMessage {
 public:
  ByteMessage(std::uint64_t seed, engine::Rank source, std::uint64_t operation);

  /// Fills a send buffer from its first byte on.
  void fill(std::span<std::byte> send_buffer) const;
  /// The first byte that is not as `send_buffer[offset...]` was filled.
  struct Difference {
    std::size_t position = 0;  ///< in `received`
    std::byte expected{};
    std::byte found{};
  };
  [[nodiscard]] std::optional<Difference> difference(std::span<const std::byte> received,
                                                     std::size_t offset) const;

 private:
  [[nodiscard]] std::uint64_t word(std::size_t index) const;
  [[nodiscard]] std::byte byte_at(std::size_t position) const;

  std::uint64_t key_;
};

}  // namespace hoccl::hw
