#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "hw/bootstrap/bootstrap.h"
#include "hw/system/file_descriptor.h"

namespace hoccl::hw {

/// Local sockets between all ranks of one host: they carry file descriptors, and their end tells
/// at once, in the kernel's words, that a process is gone: a process's sockets are closed only
/// after the last of its threads has run for the last time. Where a child that it forked keeps them
/// open, the end of the process itself tells (a pidfd).
///
/// A peer that breaks the mesh's own rules is killed and then lost; where it cannot be killed it is
/// lost at once. stderr says so.
class LocalMesh {
 public:
  struct Packet {
    engine::Rank source;
    std::span<const std::byte> payload;  ///< at most kMaxPayload
    /// Fewer than were sent when this process or the sender may have no more open files.
    std::vector<FileDescriptor> descriptors;
  };
  static constexpr std::size_t kMaxPayload = 256;
  static constexpr std::size_t kMaxDescriptors = 4;

  /// Collective over all ranks of the job; connects `members`, who must be on one host (throws
  /// BootstrapError naming one that is not, and one that is lost before all are connected). Peers
  /// prove their user (SO_PEERCRED) and the job's secret.
  LocalMesh(Bootstrap& bootstrap, std::span<const engine::Rank> members);
  /// Of a job that is on one host.
  explicit LocalMesh(Bootstrap& bootstrap);
  /// Says goodbye to all peers: for them this rank has left, not died. What was sent before goes
  /// first; until then the callbacks are called.
  ~LocalMesh();

  /// Starts the thread that receives. `on_packet` is called there, in order per source. `on_lost`
  /// is called there once per peer, after its last packet; `died` is false after a goodbye.
  void start(std::function<void(Packet)> on_packet,
             std::function<void(engine::Rank, bool died)> on_lost);

  /// To another member, from any thread; never blocks. In order per peer. Nothing happens when the
  /// peer is lost.
  void send(engine::Rank peer, std::span<const std::byte> payload,
            std::span<const int> descriptors = {});

  /// Ends the process of another rank (SIGKILL), from any thread: only after that is it safe to use
  /// memory again that it may have written to. `on_lost` then reports it, as any that died. False,
  /// and nothing happens: it is in this very process, or the kernel lacks pidfds.
  bool kill_peer(engine::Rank peer);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hoccl::hw
