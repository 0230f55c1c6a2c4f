#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace hoccl::hw {

/// What ranks of a host send each other over the LocalMesh; the first four bytes of a packet.
enum class NodePacketKind : std::uint32_t {
  kSegment = 1,    ///< the sender's RankSegment
  kPool,           ///< the StagingPool of a place that the sender hosts
  kImportRequest,  ///< which memory is your buffer?
  kImportReply,    ///< its allocation, or a refusal
  kInvalidate,     ///< an allocation that was imported is gone
};

/// The kind, or a value outside the enumeration for a packet that is too short.
inline NodePacketKind node_packet_kind(std::span<const std::byte> payload) {
  NodePacketKind kind{0};
  if (payload.size() >= sizeof(kind)) std::memcpy(&kind, payload.data(), sizeof(kind));
  return kind;
}

}  // namespace hoccl::hw
