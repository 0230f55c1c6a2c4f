#include "tests/hw/job/rank_host.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>

#include "engine/base/check.h"
#include "hw/system/system_error.h"
#include "tests/hw/job/wire_format.h"

namespace hoccl::hw {
namespace {

using engine::Seconds;

/// How long a rank that is not wanted any more may take to end: longer than any bounded wait in it.
constexpr Seconds kDyingTime(60.0);

bool write_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool read_all(int socket, char* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t received = ::recv(socket, bytes, size, 0);
    if (received < 0 && errno == EINTR) continue;
    if (received <= 0) return false;
    bytes += received;
    size -= static_cast<std::size_t>(received);
  }
  return true;
}

bool write_frame(int socket, std::string_view body) {
  std::string frame;
  append(frame, body.size());
  frame.append(body);
  return write_all(socket, frame);
}

/// Nothing when the other side has closed.
std::optional<std::string> read_frame(int socket) {
  std::size_t size = 0;
  if (!read_all(socket, reinterpret_cast<char*>(&size), sizeof(size))) return std::nullopt;
  std::string body(size, '\0');
  if (!read_all(socket, body.data(), size)) return std::nullopt;
  return body;
}

constexpr char kFine = 'y';
constexpr char kError = 'n';

}  // namespace

RankHost::RankHost(engine::Rank rank, Living living, const Start& start,
                   const std::vector<int>& unwanted)
    : rank_(rank) {
  int ends[2] = {};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw SystemError("make a pair of sockets");
  }
  socket_ = FileDescriptor(ends[0]);
  FileDescriptor other(ends[1]);
  if (living == Living::kThread) {
    thread_ = std::thread([this, start, number = other.release()] {
      const FileDescriptor own(number);
      serve(own.get(), start);
    });
    return;
  }
  std::fflush(nullptr);  // or the child would print it again
  const pid_t parent = ::getpid();
  child_ = ::fork();
  if (child_ < 0) throw SystemError("fork a rank");
  if (child_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    serve_in_child(other.get(), start, unwanted);
  }
}

RankHost::~RankHost() {
  if (!alive()) return;
  if (child_ > 0) {
    kill();
    return;
  }
  try {
    end(kDyingTime);
  } catch (const RankFailed& failure) {
    // A thread cannot be killed, and this object must not go before it.
    std::fprintf(stderr, "%s\n", failure.what());
    std::abort();
  }
}

void RankHost::serve_in_child(int socket, const Start& start, const std::vector<int>& unwanted) {
  // A parent's end that stays open here would hide the parent's death from its siblings.
  socket_.reset();
  for (const int number : unwanted) ::close(number);
  serve(socket, start);
  std::fflush(nullptr);
  ::_exit(0);  // what the test's own process does at its end is none of ours
}

void RankHost::serve(int socket, const Start& start) {
  const Answer answer = start();
  while (const std::optional<std::string> request = read_frame(socket)) {
    std::string reply;
    try {
      reply = kFine + answer(*request);
    } catch (const std::exception& error) {
      reply = kError + std::string(error.what());
    }
    if (!write_frame(socket, reply)) return;
  }
}

std::string RankHost::name() const { return fmt::format("rank {}", rank_); }

void RankHost::ask(std::string_view request) {
  if (!alive() || !write_frame(socket_.get(), request)) throw RankFailed(name() + " is dead");
}

bool RankHost::wait_readable(Seconds timeout) {
  pollfd waiting{socket_.get(), POLLIN, 0};
  return ::poll(&waiting, 1, static_cast<int>(timeout.count() * 1e3)) > 0;
}

std::string RankHost::answer(Seconds timeout) {
  if (!wait_readable(timeout)) {
    throw RankFailed(fmt::format("{} does not answer within {} s", name(), timeout.count()));
  }
  const std::optional<std::string> reply = read_frame(socket_.get());
  if (!reply) throw RankFailed(fmt::format("{} died: {}", name(), reap()));
  if (reply->front() == kError) throw RankFailed(fmt::format("{}: {}", name(), reply->substr(1)));
  return reply->substr(1);
}

/// Says how it ended, which must be certain.
std::string RankHost::reap() {
  socket_.reset();
  if (thread_.joinable()) {
    thread_.join();
    return {};
  }
  int status = 0;
  while (::waitpid(child_, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) return fmt::format("killed by signal {}", WTERMSIG(status));
  const int code = WEXITSTATUS(status);
  return code == 0 ? std::string() : fmt::format("exit code {}", code);
}

void RankHost::kill() {
  HOCCL_CHECK(child_ > 0 && alive(), "{} cannot be killed", name());
  ::kill(child_, SIGKILL);
  reap();
}

void RankHost::await_death(Seconds timeout) {
  do {
    if (!wait_readable(timeout)) {
      throw RankFailed(fmt::format("{} did not die within {} s", name(), timeout.count()));
    }
  } while (read_frame(socket_.get()));
  reap();
}

void RankHost::end(Seconds timeout) {
  ::shutdown(socket_.get(), SHUT_WR);
  // Its end of the socket closes when its last thread is gone.
  if (!wait_readable(timeout)) {
    throw RankFailed(fmt::format("{} does not end within {} s", name(), timeout.count()));
  }
  const std::string how = reap();
  if (!how.empty()) throw RankFailed(fmt::format("{} ended badly: {}", name(), how));
}

}  // namespace hoccl::hw
