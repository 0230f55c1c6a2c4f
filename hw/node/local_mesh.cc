#include "hw/node/local_mesh.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <thread>
#include <utility>

#include "engine/base/check.h"
#include "hw/bootstrap/deadline.h"
#include "hw/node/mesh_packet.h"
#include "hw/node/mesh_peer.h"
#include "hw/node/mesh_rendezvous.h"
#include "hw/system/system_error.h"

namespace hoccl::hw {

using engine::Rank;

namespace {

/// For a peer that does not read, to take the last packets and the goodbye.
constexpr engine::Seconds kLastWords{5.0};
/// Until the next try when a packet cannot be sent for want of memory or the like.
constexpr engine::Seconds kRetryPause{0.01};

}  // namespace

struct LocalMesh::Impl {
  Impl(const Bootstrap& bootstrap, std::vector<MeshLink> links)
      : peers(static_cast<std::size_t>(bootstrap.size())) {
    if (!wake) throw SystemError("make an eventfd");
    for (std::size_t rank = 0; rank < links.size(); ++rank) {
      if (!links[rank].socket) continue;
      peers[rank].emplace(bootstrap.rank(), Rank(rank), std::move(links[rank]));
    }
  }

  void ring() const {
    const std::uint64_t one = 1;  // the only failure is a full counter, and then it rings already
    [[maybe_unused]] const ssize_t written = ::write(wake.get(), &one, sizeof one);
  }

  /// Until it is closing and everything is sent.
  void run() {
    std::optional<Deadline> end;
    std::vector<pollfd> watched;
    while (true) {
      watched.assign(1, {.fd = wake.get(), .events = POLLIN, .revents = 0});
      bool all_sent = true;
      bool starved = false;
      for (const std::optional<MeshPeer>& peer : peers) {
        if (!peer) continue;
        const MeshPeer::Watched both = peer->watched();
        watched.insert(watched.end(), both.begin(), both.end());
        all_sent = all_sent && peer->all_sent();
        starved = starved || peer->starved();
      }
      if (closing.load()) {
        if (!end) end.emplace(kLastWords);
        if (all_sent || end->passed()) return;
      }
      std::optional<Deadline> wake_up = end;
      if (starved) wake_up = std::min(end.value_or(Deadline(kLastWords)), Deadline(kRetryPause));
      ::poll(watched.data(), watched.size(), wake_up ? wake_up->poll_milliseconds() : -1);
      if (watched[0].revents != 0) {
        std::uint64_t count = 0;
        [[maybe_unused]] const ssize_t read = ::read(wake.get(), &count, sizeof count);
      }
      auto happened = watched.begin() + 1;
      for (std::optional<MeshPeer>& peer : peers) {
        if (!peer) continue;
        peer->serve({happened[0], happened[1]}, on_packet, on_lost);
        happened += 2;
      }
    }
  }

  FileDescriptor wake{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  std::vector<std::optional<MeshPeer>> peers;  ///< by rank, none for this one
  MeshPeer::OnPacket on_packet = [](Packet) {};
  MeshPeer::OnLost on_lost = [](Rank, bool) {};
  std::atomic<bool> closing = false;
  std::thread thread;
};

LocalMesh::LocalMesh(Bootstrap& bootstrap)
    : impl_(std::make_unique<Impl>(bootstrap, connect_local_ranks(bootstrap))) {}

LocalMesh::LocalMesh(Bootstrap& bootstrap, std::span<const Rank> members)
    : impl_(std::make_unique<Impl>(bootstrap, connect_local_ranks(bootstrap, members))) {}

LocalMesh::~LocalMesh() {
  for (std::optional<MeshPeer>& peer : impl_->peers) {
    if (peer) peer->send(MeshPacketKind::kGoodbye, {}, {});
  }
  impl_->closing.store(true);
  if (!impl_->thread.joinable()) {
    impl_->run();
    return;
  }
  impl_->ring();
  impl_->thread.join();
}

void LocalMesh::start(std::function<void(Packet)> on_packet,
                      std::function<void(Rank, bool died)> on_lost) {
  HOCCL_CHECK(!impl_->thread.joinable(), "the local mesh has been started before");
  impl_->on_packet = std::move(on_packet);
  impl_->on_lost = std::move(on_lost);
  impl_->thread = std::thread([this] { impl_->run(); });
}

void LocalMesh::send(Rank peer, std::span<const std::byte> payload,
                     std::span<const int> descriptors) {
  HOCCL_CHECK(payload.size() <= kMaxPayload && descriptors.size() <= kMaxDescriptors,
              "a packet of {} bytes and {} descriptors", payload.size(), descriptors.size());
  std::optional<MeshPeer>& target = impl_->peers.at(peer.index());
  HOCCL_CHECK(target.has_value(), "a packet to rank {}, which is this one or on another host",
              peer);
  if (!target->send(MeshPacketKind::kData, payload, descriptors)) impl_->ring();
}

bool LocalMesh::kill_peer(Rank peer) {
  const std::optional<MeshPeer>& target = impl_->peers.at(peer.index());
  HOCCL_CHECK(target.has_value(), "rank {} to be killed is this one or on another host", peer);
  return target->kill();
}

}  // namespace hoccl::hw
