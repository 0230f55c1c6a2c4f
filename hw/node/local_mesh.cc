#include "hw/node/local_mesh.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <atomic>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "engine/base/check.h"
#include "hw/bootstrap/deadline.h"
#include "hw/node/mesh_packet.h"
#include "hw/node/mesh_rendezvous.h"
#include "hw/system/system_error.h"

namespace hoccl::hw {

using engine::Rank;

namespace {

/// For a peer that does not read, to take the last packets and the goodbye.
constexpr engine::Seconds kLastWords{5.0};
/// From one peer, before the others have their turn.
constexpr int kPacketsAtOnce = 32;

struct Outgoing {
  MeshPacketKind kind = MeshPacketKind::kData;
  std::vector<std::byte> payload;
  std::vector<FileDescriptor> descriptors;
};

std::vector<int> numbers_of(const std::vector<FileDescriptor>& descriptors) {
  std::vector<int> numbers;
  for (const FileDescriptor& descriptor : descriptors) numbers.push_back(descriptor.get());
  return numbers;
}

FileDescriptor duplicate(int number) {
  FileDescriptor copy(::fcntl(number, F_DUPFD_CLOEXEC, 0));
  if (!copy) throw SystemError("keep a file descriptor that is to be sent");
  return copy;
}

/// The connection to one peer. Sending is for any thread, receiving for the mesh's.
class Peer {
 public:
  Peer(Rank rank, FileDescriptor socket) : rank_(rank), socket_(std::move(socket)) {}

  [[nodiscard]] Rank rank() const { return rank_; }

  /// False: it is queued, somebody must call flush() when POLLOUT comes.
  bool send(MeshPacketKind kind, std::span<const std::byte> payload,
            std::span<const int> descriptors) {
    const std::lock_guard lock(mutex_);
    if (!socket_) return true;
    if (queue_.empty() &&
        send_mesh_packet(socket_, kind, payload, descriptors) != MeshSend::kFull) {
      return true;
    }
    Outgoing& outgoing = queue_.emplace_back();
    outgoing.kind = kind;
    outgoing.payload.assign(payload.begin(), payload.end());
    for (const int number : descriptors) outgoing.descriptors.push_back(duplicate(number));
    return false;
  }

  void flush() {
    const std::lock_guard lock(mutex_);
    while (!queue_.empty()) {
      const Outgoing& next = queue_.front();
      const MeshSend result =
          send_mesh_packet(socket_, next.kind, next.payload, numbers_of(next.descriptors));
      if (result == MeshSend::kFull) return;
      queue_.pop_front();
    }
  }

  [[nodiscard]] pollfd watched() const {
    const std::lock_guard lock(mutex_);
    const int events = queue_.empty() ? POLLIN : POLLIN | POLLOUT;
    return {.fd = socket_.get(), .events = static_cast<short>(events), .revents = 0};
  }

  /// What it says, in turn; only the mesh's thread closes the socket, so it needs no lock to read.
  template <class OnPacket, class OnLost>
  void receive(const OnPacket& on_packet, const OnLost& on_lost) {
    MeshPacketBuffer buffer;
    for (int count = 0; count < kPacketsAtOnce; ++count) {
      switch (receive_mesh_packet(socket_, buffer)) {
        case MeshReceive::kNothing:
          return;
        case MeshReceive::kEnd:
          close();
          on_lost(rank_, !has_said_goodbye_);
          return;
        case MeshReceive::kPacket:
          break;
      }
      if (buffer.kind == MeshPacketKind::kGoodbye) {
        has_said_goodbye_ = true;
      } else {
        on_packet(LocalMesh::Packet{.source = rank_,
                                    .payload = std::span(buffer.bytes).first(buffer.size),
                                    .descriptors = std::move(buffer.descriptors)});
      }
    }
  }

 private:
  void close() {
    const std::lock_guard lock(mutex_);
    socket_.reset();
    queue_.clear();
  }

  Rank rank_;
  bool has_said_goodbye_ = false;
  mutable std::mutex mutex_;
  FileDescriptor socket_;
  std::deque<Outgoing> queue_;
};

}  // namespace

struct LocalMesh::Impl {
  explicit Impl(Bootstrap& bootstrap) : peers(static_cast<std::size_t>(bootstrap.size())) {
    if (!wake) throw SystemError("make an eventfd");
    std::vector<FileDescriptor> sockets = connect_local_ranks(bootstrap);
    for (std::size_t rank = 0; rank < sockets.size(); ++rank) {
      if (sockets[rank]) peers[rank].emplace(Rank(rank), std::move(sockets[rank]));
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
      watched.clear();
      watched.push_back({.fd = wake.get(), .events = POLLIN, .revents = 0});
      bool all_sent = true;
      for (const std::optional<Peer>& peer : peers) {
        watched.push_back(peer ? peer->watched() : pollfd{.fd = -1, .events = 0, .revents = 0});
        if ((watched.back().events & POLLOUT) != 0) all_sent = false;
      }
      if (closing.load()) {
        if (!end) end.emplace(kLastWords);
        if (all_sent || end->passed()) return;
      }
      ::poll(watched.data(), watched.size(), end ? end->poll_milliseconds() : -1);
      if (watched[0].revents != 0) {
        std::uint64_t count = 0;
        [[maybe_unused]] const ssize_t read = ::read(wake.get(), &count, sizeof count);
      }
      for (std::size_t i = 0; i < peers.size(); ++i) {
        const short happened = watched[i + 1].revents;
        if ((happened & POLLOUT) != 0) peers[i]->flush();
        if ((happened & ~POLLOUT) != 0) peers[i]->receive(on_packet, on_lost);
      }
    }
  }

  FileDescriptor wake{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  std::vector<std::optional<Peer>> peers;  ///< by rank, none for this one
  std::function<void(Packet)> on_packet = [](Packet) {};
  std::function<void(Rank, bool)> on_lost = [](Rank, bool) {};
  std::atomic<bool> closing = false;
  std::thread thread;
};

LocalMesh::LocalMesh(Bootstrap& bootstrap) : impl_(std::make_unique<Impl>(bootstrap)) {}

LocalMesh::~LocalMesh() {
  for (std::optional<Peer>& peer : impl_->peers) {
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
  std::optional<Peer>& target = impl_->peers.at(peer.index());
  HOCCL_CHECK(target.has_value(), "rank {} sends a packet to itself", peer);
  if (!target->send(MeshPacketKind::kData, payload, descriptors)) impl_->ring();
}

}  // namespace hoccl::hw
