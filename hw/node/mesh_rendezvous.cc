#include "hw/node/mesh_rendezvous.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <utility>

#include "engine/base/check.h"
#include "hw/bootstrap/bootstrap_error.h"
#include "hw/bootstrap/deadline.h"
#include "hw/bootstrap/doorkeeper.h"
#include "hw/bootstrap/program_version.h"
#include "hw/bootstrap/visitor.h"
#include "hw/node/mesh_process.h"
#include "hw/system/system_error.h"

namespace hoccl::hw {

namespace {

using engine::Rank;

/// Until the next try of a rank that cannot be connected to.
constexpr engine::Seconds kConnectPause{0.01};

/// An abstract name: it has no file, so nothing is left behind by a process that is killed. It is
/// random, so nobody can sit on it in advance.
std::string random_name() {
  std::array<std::byte, 16> random;
  fill_random(random);
  std::string name = "hoccl-";
  for (const std::byte byte : random) name += fmt::format("{:02x}", std::to_integer<int>(byte));
  return name;
}

struct UnixAddress {
  explicit UnixAddress(std::string_view name)
      : size(static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size())) {
    if (name.size() >= sizeof address.sun_path) throw BootstrapError("a socket name is too long");
    address.sun_family = AF_UNIX;
    std::memcpy(&address.sun_path[1], name.data(), name.size());
  }
  [[nodiscard]] const sockaddr* generic() const {
    return reinterpret_cast<const sockaddr*>(&address);
  }

  sockaddr_un address{};
  socklen_t size;
};

FileDescriptor make_socket() {
  FileDescriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) throw SystemError("make a Unix socket");
  return socket;
}

FileDescriptor listen_at(const std::string& name) {
  FileDescriptor socket = make_socket();
  const UnixAddress address(name);
  if (::bind(socket.get(), address.generic(), address.size) != 0 ||
      ::listen(socket.get(), SOMAXCONN) != 0) {
    throw SystemError("listen at a Unix socket");
  }
  return socket;
}

ucred credentials_of_peer(const FileDescriptor& socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    throw SystemError("ask for the user of a Unix socket's peer");
  }
  return peer;
}

std::optional<std::string> objection_to_peer(const FileDescriptor& socket) {
  return objection_to_user(credentials_of_peer(socket).uid, ::geteuid());
}

/// At once, so that its process id is still its own.
MeshLink link_over(FileDescriptor socket) {
  const pid_t process = credentials_of_peer(socket).pid;
  // 0: it has no number in this process's namespace.
  const bool own_or_unknown = process == ::getpid() || process == 0;
  return {.socket = std::move(socket),
          .process = own_or_unknown ? FileDescriptor() : open_process(process)};
}

/// This rank's way to one rank below it.
class Visit {
 public:
  Visit(Rank target, std::string name, const MacKey& key, const Introduction& self)
      : target_(target), name_(std::move(name)), key_(key), self_(self) {}

  /// Does what can be done now. True: the connection stands.
  bool advance() {
    if (!visitor_) connect();
    if (!visitor_ || visitor_->state() == Visitor::State::kAccepted) return visitor_.has_value();
    switch (visitor_->advance()) {
      case Visitor::State::kWaiting:
        return false;
      case Visitor::State::kAccepted:
        return true;
      case Visitor::State::kRefused:
      case Visitor::State::kDuplicate:  // no try ends before its verdict here
        throw BootstrapError(
            fmt::format("rank {} refused rank {}: {}", target_, self_.rank, visitor_->reason()));
      case Visitor::State::kStranger:
        // Pushed out by a flood of strangers. Not for long: it prefers new connections.
        visitor_.reset();
        return false;
    }
    return false;
  }
  [[nodiscard]] Rank target() const { return target_; }
  [[nodiscard]] bool connected() const { return visitor_.has_value(); }
  [[nodiscard]] pollfd watched() const {
    return {.fd = visitor_ ? visitor_->descriptor() : -1, .events = POLLIN, .revents = 0};
  }
  FileDescriptor take_socket() { return visitor_->take_socket(); }

 private:
  void connect() {
    FileDescriptor socket = make_socket();
    const UnixAddress address(name_);
    if (::connect(socket.get(), address.generic(), address.size) != 0) {
      // Its queue is full of strangers, or it is gone. Not necessarily the first: it may have given
      // up for the loss of another, and rank 0 knows which.
      if (errno == EAGAIN || errno == ECONNREFUSED) return;
      throw SystemError(fmt::format("connect to rank {} of this host", target_));
    }
    if (const auto objection = objection_to_peer(socket)) {
      throw BootstrapError(fmt::format("rank {} is not ours: {}", target_, *objection));
    }
    visitor_.emplace(std::move(socket), key_, self_, target_);
  }

  Rank target_;
  std::string name_;
  MacKey key_;
  Introduction self_;
  std::optional<Visitor> visitor_;
};

void require_one_host(const Bootstrap& bootstrap, std::span<const Rank> members) {
  const std::string& first = bootstrap.host_of(members.front());
  for (const Rank rank : members) {
    const std::string& host = bootstrap.host_of(rank);
    if (host != first) {
      throw BootstrapError(fmt::format("rank {} is on host {}, rank {} on {}: expected one host",
                                       rank, host, members.front(), first));
    }
  }
}

/// Waits until something happens that concerns the mesh.
void wait_for_news(const Bootstrap& bootstrap, const Doorkeeper& doorkeeper,
                   const std::vector<Visit>& visits, const Deadline& deadline) {
  std::vector<pollfd> watched;
  bootstrap.add_to(watched);
  doorkeeper.add_to(watched);
  Deadline wake = std::min(deadline, doorkeeper.deadline().value_or(deadline));
  for (const Visit& visit : visits) {
    watched.push_back(visit.watched());
    if (!visit.connected()) wake = std::min(wake, Deadline(kConnectPause));
  }
  ::poll(watched.data(), watched.size(), wake.poll_milliseconds());
}

}  // namespace

std::optional<std::string> objection_to_user(uid_t peer, uid_t self) {
  if (peer == self) return std::nullopt;
  return fmt::format("it belongs to user {}, not {}", peer, self);
}

std::vector<MeshLink> connect_local_ranks(Bootstrap& bootstrap) {
  std::vector<Rank> all;
  for (int rank = 0; rank < bootstrap.size(); ++rank) all.emplace_back(rank);
  return connect_local_ranks(bootstrap, all);
}

std::vector<MeshLink> connect_local_ranks(Bootstrap& bootstrap, std::span<const Rank> members) {
  require_one_host(bootstrap, members);
  const Rank self = bootstrap.rank();
  const Deadline deadline(bootstrap.options().timeout);
  const MacKey key = bootstrap.secret().key(kLocalMeshPurpose);
  const Introduction introduction{
      .rank = self, .job_size = bootstrap.size(), .program_version = program_version()};

  const std::string name = random_name();
  Doorkeeper doorkeeper(listen_at(name), key, introduction, bootstrap.options().hello_timeout,
                        objection_to_peer);
  // After this exchange every rank listens.
  const std::vector<std::string> names = bootstrap.all_gather(name);
  std::vector<Visit> visits;
  for (const Rank rank : members) {
    if (rank < self) visits.emplace_back(rank, names[rank.index()], key, introduction);
  }

  std::vector<MeshLink> links(static_cast<std::size_t>(bootstrap.size()));
  while (true) {
    for (Doorkeeper::Guest& guest : doorkeeper.serve()) {
      links[guest.rank.index()] = link_over(std::move(guest.socket));
    }
    std::erase_if(visits, [&](Visit& visit) {
      const bool stands = visit.advance();
      if (stands) links[visit.target().index()] = link_over(visit.take_socket());
      return stands;
    });
    std::vector<Rank> missing = doorkeeper.missing();
    std::erase_if(missing,
                  [&](Rank rank) { return std::ranges::find(members, rank) == members.end(); });
    if (visits.empty() && missing.empty()) break;
    if (deadline.passed()) {
      for (const Visit& visit : visits) missing.push_back(visit.target());
      throw BootstrapError(
          fmt::format("ranks {} did not join this host's local sockets within {} s",
                      fmt::join(missing, ", "), bootstrap.options().timeout.count()));
    }
    wait_for_news(bootstrap, doorkeeper, visits, deadline);
    bootstrap.require_nobody_lost();
  }
  // Who leaves while others still wait is lost to them.
  bootstrap.barrier();
  return links;
}

}  // namespace hoccl::hw
