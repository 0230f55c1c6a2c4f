#include "hw/node/mesh_packet.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstring>

#include "hw/system/system_error.h"

namespace hoccl::hw {

namespace {

/// For the descriptors that travel beside the bytes.
struct alignas(cmsghdr) ControlBuffer {
  std::array<std::byte, CMSG_SPACE(sizeof(int) * LocalMesh::kMaxDescriptors)> bytes{};
};

void take_descriptors(msghdr& header, std::vector<FileDescriptor>& descriptors) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(part) + i * sizeof number, sizeof number);
      descriptors.emplace_back(number);
    }
  }
}

}  // namespace

MeshSend send_mesh_packet(const FileDescriptor& socket, MeshPacketKind kind,
                          std::span<const std::byte> payload, std::span<const int> descriptors) {
  // sendmsg() only reads them, but iovec knows no const.
  std::array<iovec, 2> parts{
      iovec{.iov_base = &kind, .iov_len = sizeof kind},
      iovec{.iov_base = const_cast<std::byte*>(payload.data()), .iov_len = payload.size()}};
  ControlBuffer control;
  msghdr header{};
  header.msg_iov = parts.data();
  header.msg_iovlen = parts.size();
  if (!descriptors.empty()) {
    header.msg_control = control.bytes.data();
    header.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* part = CMSG_FIRSTHDR(&header);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(part), descriptors.data(), descriptors.size_bytes());
  }
  while (::sendmsg(socket.get(), &header, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
    if (errno == EAGAIN) return MeshSend::kFull;
    if (errno == ETOOMANYREFS || errno == ENOBUFS || errno == ENOMEM) return MeshSend::kStarved;
    if (errno == EPIPE || errno == ECONNRESET) return MeshSend::kGone;
    if (errno != EINTR) throw SystemError("send a packet to a local rank");
  }
  return MeshSend::kSent;
}

MeshReceive receive_mesh_packet(const FileDescriptor& socket, MeshPacketBuffer& buffer) {
  ControlBuffer control;
  std::array<iovec, 2> parts{
      iovec{.iov_base = &buffer.kind, .iov_len = sizeof buffer.kind},
      iovec{.iov_base = buffer.bytes.data(), .iov_len = buffer.bytes.size()}};
  msghdr header{};
  ssize_t count = -1;
  do {
    header = {};
    header.msg_iov = parts.data();
    header.msg_iovlen = parts.size();
    header.msg_control = control.bytes.data();
    header.msg_controllen = control.bytes.size();
    count = ::recvmsg(socket.get(), &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    // A peer that ended without reading everything: its own last packets come after this error.
  } while (count < 0 && (errno == EINTR || errno == ECONNRESET));
  if (count < 0) {
    if (errno == EAGAIN) return MeshReceive::kNothing;
    throw SystemError("receive a packet from a local rank");
  }
  if (count == 0) return MeshReceive::kEnd;
  buffer.descriptors.clear();
  take_descriptors(header, buffer.descriptors);
  if ((header.msg_flags & MSG_TRUNC) != 0) {
    throw SystemError("receive a packet from a local rank", EMSGSIZE);
  }
  buffer.size = static_cast<std::size_t>(count) - sizeof buffer.kind;
  return MeshReceive::kPacket;
}

}  // namespace hoccl::hw
