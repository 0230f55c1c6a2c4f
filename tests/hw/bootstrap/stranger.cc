#include "tests/hw/bootstrap/stranger.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "hw/bootstrap/sockets.h"

namespace hoccl::hw::test {

namespace {

constexpr int kPatienceMs = 20'000;

bool wait(int socket, short events) {
  pollfd watched{.fd = socket, .events = events, .revents = 0};
  return ::poll(&watched, 1, kPatienceMs) == 1;
}

}  // namespace

FileDescriptor connect_to(std::uint16_t port) {
  std::string unused;
  FileDescriptor socket = start_connecting(resolve("", port, unused).at(0));
  const bool connected = socket && wait(socket.get(), POLLOUT) && pending_error(socket) == 0;
  EXPECT_TRUE(connected) << "port " << port;
  return socket;
}

Visitor visit(std::uint16_t port, const JobSecret& secret, const Introduction& self) {
  Visitor visitor(connect_to(port), secret.key(kRendezvousPurpose), self, engine::Rank(0));
  while (visitor.advance() == Visitor::State::kWaiting) {
    if (!wait(visitor.descriptor(), POLLIN)) {
      ADD_FAILURE() << "no answer";
      break;
    }
  }
  return visitor;
}

void send_text(const FileDescriptor& socket, const std::string& text) {
  // Whether it arrives is up to the other end.
  static_cast<void>(::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL));
}

std::string receive_text(const FileDescriptor& socket, std::size_t size) {
  std::string text;
  std::array<char, 4096> buffer;
  while (text.size() < size && wait(socket.get(), POLLIN)) {
    const ssize_t count =
        ::recv(socket.get(), buffer.data(), std::min(buffer.size(), size - text.size()), 0);
    if (count <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return text;
}

bool is_closed(const FileDescriptor& socket) {
  std::array<char, 4096> buffer;
  while (wait(socket.get(), POLLIN)) {
    if (::recv(socket.get(), buffer.data(), buffer.size(), 0) <= 0) return true;
  }
  return false;
}

}  // namespace hoccl::hw::test
