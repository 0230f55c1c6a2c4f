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

constexpr engine::Seconds kFirstPause{0.01};
constexpr engine::Seconds kLongestPause{0.2};

void pause_for(engine::Seconds duration) {
  ::poll(nullptr, 0, Deadline(duration).poll_milliseconds());
}

/// One try of one address; says in `reason` what was wrong with it.
class Attempt {
 public:
  Attempt(const Meeting& meeting, const Deadline& deadline)
      : meeting_(meeting), deadline_(deadline) {}

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
  /// Whether the server has refused this rank because it is there.
  [[nodiscard]] bool is_duplicate() const { return is_duplicate_; }

 private:
  std::optional<Channel> introduce(FileDescriptor socket, std::string& reason) {
    const Introduction self{
        .rank = meeting_.self, .job_size = meeting_.job_size, .program_version = program_version()};
    Visitor visitor(std::move(socket), meeting_.key, self, meeting_.server);
    while (visitor.advance() == Visitor::State::kWaiting) {
      if (!wait(visitor.descriptor(), POLLIN)) {
        reason = "it does not answer";
        return std::nullopt;
      }
    }
    reason = visitor.reason();
    if (visitor.state() == Visitor::State::kStranger) return std::nullopt;
    if (visitor.state() != Visitor::State::kAccepted) {
      reason = fmt::format("rank {} refused rank {}: {}", meeting_.server, meeting_.self, reason);
      is_duplicate_ = visitor.state() == Visitor::State::kDuplicate;
      if (!is_duplicate_) throw BootstrapError(reason);
      return std::nullopt;
    }
    const SessionKeys keys = visitor.session_keys();
    return Channel(visitor.take_socket(), keys.to_server, keys.to_client);
  }

  /// False: the time is over.
  bool wait(int descriptor, short events) const {
    pollfd watched{.fd = descriptor, .events = events, .revents = 0};
    int count = -1;
    do {
      count = ::poll(&watched, 1, deadline_.poll_milliseconds());
    } while (count < 0 && errno == EINTR);
    return count == 1;
  }

  const Meeting& meeting_;
  Deadline deadline_;
  bool is_duplicate_ = false;
};

}  // namespace

Meeting meeting_with_rank_0(const Launch& launch) {
  return {.self = launch.rank,
          .job_size = launch.size,
          .server = engine::Rank(0),
          .host = launch.host,
          .ports = launch.ports,
          .key = launch.secret.key(kRendezvousPurpose)};
}

Channel visit(const Meeting& meeting, const BootstrapOptions& options, const Deadline& deadline) {
  engine::Seconds pause = kFirstPause;
  // The server may still hold an earlier try of this rank that ended before its verdict, so another
  // try helps; but in the end this is the reason, and not that the job's door is closed.
  std::string refusal;
  while (true) {
    std::string reasons;
    const std::vector<SocketAddress> addresses =
        resolve(meeting.host, meeting.ports.front(), reasons);
    for (const std::uint16_t port : meeting.ports) {
      std::string reason;
      for (const SocketAddress& address : addresses) {
        // A stranger that accepts and says nothing must not keep this rank from the next port.
        Attempt attempt(meeting, std::min(deadline, Deadline(options.hello_timeout)));
        if (auto channel = attempt.connect(with_port(address, port), reason)) {
          return std::move(*channel);
        }
        if (attempt.is_duplicate()) refusal = reason;
      }
      if (reason.empty()) continue;
      reasons += fmt::format("{}port {}: {}", reasons.empty() ? "" : ", ", port, reason);
    }
    pause_for(std::clamp(deadline.left(), engine::Seconds(0.0), pause));
    if (deadline.passed()) {
      if (!refusal.empty()) throw BootstrapError(refusal);
      throw BootstrapError(fmt::format(
          "rank {} did not appear on {} within {} s ({})", meeting.server,
          meeting.host.empty() ? "this host" : meeting.host, options.timeout.count(), reasons));
    }
    pause = std::min(2 * pause, kLongestPause);
  }
}

}  // namespace hoccl::hw
