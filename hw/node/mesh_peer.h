#pragma once

#include <poll.h>

#include <array>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "engine/base/ids.h"
#include "hw/node/local_mesh.h"
#include "hw/node/mesh_packet.h"
#include "hw/node/mesh_rendezvous.h"
#include "hw/system/file_descriptor.h"

namespace hoccl::hw {

/// The connection to one peer. Sending and killing are for any thread, the rest for the mesh's.
class MeshPeer {
 public:
  using OnPacket = std::function<void(LocalMesh::Packet)>;
  using OnLost = std::function<void(engine::Rank, bool died)>;
  /// For poll(): the socket, and the process it belongs to.
  using Watched = std::array<pollfd, 2>;

  MeshPeer(engine::Rank self, engine::Rank rank, MeshLink link);

  /// False: the mesh's thread has something to do for it.
  bool send(MeshPacketKind kind, std::span<const std::byte> payload,
            std::span<const int> descriptors);
  /// False: it is in this very process, or this kernel has no means.
  [[nodiscard]] bool kill() const;

  [[nodiscard]] Watched watched() const;
  [[nodiscard]] bool all_sent() const;
  /// Sending failed for want of something that no poll() waits for: serve() is to be called after a
  /// pause, whatever happens.
  [[nodiscard]] bool starved() const;
  /// Does what can be done after a poll().
  void serve(const Watched& happened, const OnPacket& on_packet, const OnLost& on_lost);

 private:
  struct Outgoing {
    MeshPacketKind kind = MeshPacketKind::kData;
    std::vector<std::byte> payload;
    std::vector<FileDescriptor> descriptors;
  };

  /// With the lock held. True: nothing more is to be done about this packet.
  bool is_sent(MeshPacketKind kind, std::span<const std::byte> payload,
               std::span<const int> descriptors);
  void flush();
  void receive(bool has_ended, const OnPacket& on_packet, const OnLost& on_lost);
  MeshReceive receive_one(MeshPacketBuffer& buffer);
  /// Ends a peer that is broken. As long as it lives it may write to memory that it was given.
  void expel(bool has_ended, const OnLost& on_lost);
  void lose(const OnLost& on_lost);
  [[nodiscard]] std::string fault() const;

  engine::Rank self_;
  engine::Rank rank_;
  FileDescriptor process_;  ///< kept to the end: also who has left can be killed
  bool has_said_goodbye_ = false;
  bool is_being_killed_ = false;
  mutable std::mutex mutex_;
  FileDescriptor socket_;  ///< closed once it is lost; only by the mesh's thread
  std::deque<Outgoing> queue_;
  bool is_starved_ = false;
  std::string fault_;  ///< why it is broken
};

}  // namespace hoccl::hw
