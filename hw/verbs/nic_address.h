#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace hoccl::hw {

/// Where one port of a NIC is reached. Plain data: it is sent.
struct NicAddress {
  std::array<std::byte, 16> gid{};
  std::uint16_t lid = 0;  ///< InfiniBand
  std::uint8_t is_infiniband = 0;
  std::uint8_t reserved = 0;
  std::uint32_t mtu_bytes = 0;  ///< the port's active one
};

/// One end of a reliable connection. Plain data: it is sent.
struct QueuePairAddress {
  NicAddress nic;
  std::uint32_t number = 0;
  std::uint32_t first_packet = 0;  ///< the packet sequence number it begins with
};

}  // namespace hoccl::hw
