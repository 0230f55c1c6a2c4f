#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hw/node/local_mesh.h"
#include "hw/system/file_descriptor.h"

namespace hoccl::hw {

enum class MeshPacketKind : std::uint8_t { kData, kGoodbye };

enum class MeshSend : std::uint8_t {
  kSent,
  kFull,     ///< poll() for POLLOUT and try again
  kStarved,  ///< of memory, or too many descriptors are on their way: try again after a pause
  kGone,     ///< nobody will ever read it
};
/// Throws SystemError when it cannot be sent, and why is not known.
MeshSend send_mesh_packet(const FileDescriptor& socket, MeshPacketKind kind,
                          std::span<const std::byte> payload, std::span<const int> descriptors);

enum class MeshReceive : std::uint8_t { kPacket, kNothing, kEnd };
/// Room for one packet, to be used again.
struct MeshPacketBuffer {
  MeshPacketKind kind = MeshPacketKind::kData;
  alignas(std::max_align_t) std::array<std::byte, LocalMesh::kMaxPayload> bytes;
  std::size_t size = 0;
  std::vector<FileDescriptor> descriptors;
};
/// Throws SystemError when it is longer than any that a peer sends, or cannot be received.
MeshReceive receive_mesh_packet(const FileDescriptor& socket, MeshPacketBuffer& buffer);

}  // namespace hoccl::hw
