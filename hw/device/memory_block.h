#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "engine/base/units.h"

namespace hoccl::hw {

/// How another process of the host can map a block. Plain data: it is sent in a packet, with the
/// block's file descriptor where there is one.
struct BlockName {
  enum class Kind : std::uint32_t {
    kNone,        ///< nobody else can
    kDescriptor,  ///< memory of the host, behind the descriptor that comes along
    kDevice,      ///< memory of a GPU
  };
  Kind kind = Kind::kNone;
  std::uint32_t reserved = 0;
  std::uint64_t process = 0;  ///< of its owner: see process_token()
  std::uint64_t address = 0;  ///< there
  std::int64_t size_bytes = 0;
  std::array<std::byte, 64> handle{};  ///< of kDevice: CUDA's IPC handle
};

/// An allocation of the host or of a GPU. Whoever holds it keeps it mapped.
class MemoryBlock {
 public:
  virtual ~MemoryBlock() = default;
  [[nodiscard]] virtual std::byte* data() const = 0;
  [[nodiscard]] virtual engine::Bytes size() const = 0;
  /// `kNone`, and no descriptor, when others cannot map it.
  [[nodiscard]] virtual BlockName name() const = 0;
  /// To be sent along with the name; negative: none.
  [[nodiscard]] virtual int descriptor() const { return -1; }
  /// Differs from that of every other allocation of this process that has had the same address.
  [[nodiscard]] virtual std::uint64_t identity() const { return 0; }
};

/// A number that no other process of the host has drawn, whatever its process id is in whichever
/// container.
std::uint64_t process_token();

}  // namespace hoccl::hw
