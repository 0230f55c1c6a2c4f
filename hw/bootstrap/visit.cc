#include "hw/bootstrap/visit.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "hw/bootstrap/bootstrap_error.h"
#include "hw/bootstrap/program_version.h"
#include "hw/bootstrap/sockets.h"
#include "hw/bootstrap/visitor.h"

namespace hoccl::hw {

namespace {

constexpr engine::Rank kRank0(0);
constexpr engine::Seconds kFirstPause{0.01};
constexpr engine::Seconds kLongestPause{0.2};

void pause_for(engine::Seconds duration) {
  ::poll(nullptr, 0, Deadline(duration).poll_milliseconds());
}

/// One try of one address; says in `reason` what was wrong with it.
class Attempt {
 public:
  Attempt(const Launch& launch, const MacKey& key, const Deadline& deadline)
      : launch_(launch), key_(key), deadline_(deadline) {}

  std::optional<Channel> connect(const SocketAddress& address, std::string& reason) {
    FileDescriptor socket = start_connecting(address);
    if (!socket) {
      reason = std::generic_category().message(errno);
      return std::nullopt;
    }
    const bool is_over = wait(socket.get(), POLLOUT);
    const int error = is_over ? pending_error(socket) : ETIMEDOUT;
    if (error != 0) {
      reason = std::generic_category().message(error);
      return std::nullopt;
    }
    return introduce(std::move(socket), reason);
  }

 private:
  std::optional<Channel> introduce(FileDescriptor socket, std::string& reason) {
    const Introduction self{
        .rank = launch_.rank, .job_size = launch_.size, .program_version = program_version()};
    Visitor visitor(std::move(socket), key_, self, kRank0);
    while (visitor.advance() == Visitor::State::kWaiting) {
      if (!wait(visitor.descriptor(), POLLIN)) {
        reason = "it does not answer";
        return std::nullopt;
      }
    }
    if (visitor.state() == Visitor::State::kRefused) {
      throw BootstrapError(
          fmt::format("rank 0 refused rank {}: {}", launch_.rank, visitor.reason()));
    }
    if (visitor.state() == Visitor::State::kStranger) {
      reason = visitor.reason();
      return std::nullopt;
    }
    const SessionKeys keys = visitor.session_keys();
    return Channel(visitor.take_socket(), keys.to_server, keys.to_client);
  }

  /// False: the time is over.
  bool wait(int descriptor, short events) const {
    pollfd watched{.fd = descriptor, .events = events, .revents = 0};
    return ::poll(&watched, 1, deadline_.poll_milliseconds()) == 1;
  }

  const Launch& launch_;
  const MacKey& key_;
  Deadline deadline_;
};

}  // namespace

Channel visit_rank_0(const Launch& launch, const BootstrapOptions& options,
                     const Deadline& deadline) {
  const MacKey key = launch.secret.key(kRendezvousPurpose);
  engine::Seconds pause = kFirstPause;
  while (true) {
    std::string reasons;
    const std::vector<SocketAddress> addresses =
        resolve(launch.host, launch.ports.front(), reasons);
    for (const std::uint16_t port : launch.ports) {
      std::string reason;
      for (const SocketAddress& address : addresses) {
        // A stranger that accepts and says nothing must not keep this rank from the next port.
        Attempt attempt(launch, key, std::min(deadline, Deadline(options.hello_timeout)));
        if (auto channel = attempt.connect(with_port(address, port), reason)) {
          return std::move(*channel);
        }
      }
      if (reason.empty()) continue;
      reasons += fmt::format("{}port {}: {}", reasons.empty() ? "" : ", ", port, reason);
    }
    pause_for(std::clamp(deadline.left(), engine::Seconds(0.0), pause));
    if (deadline.passed()) {
      throw BootstrapError(fmt::format("rank 0 did not appear on {} within {} s ({})",
                                       launch.host.empty() ? "this host" : launch.host,
                                       options.timeout.count(), reasons));
    }
    pause = std::min(2 * pause, kLongestPause);
  }
}

}  // namespace hoccl::hw
