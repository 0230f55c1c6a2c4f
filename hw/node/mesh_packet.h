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
  kFull,  ///< poll() for POLLOUT and try again
  kGone,  ///< nobody will ever read it
};
/// Throws SystemError when the system lacks the means.
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
MeshReceive receive_mesh_packet(const FileDescriptor& socket, MeshPacketBuffer& buffer);

}  // namespace hoccl::hw
