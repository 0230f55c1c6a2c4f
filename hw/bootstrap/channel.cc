#include "hw/bootstrap/channel.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <utility>

namespace hoccl::hw {

namespace {

constexpr std::size_t kPortion = std::size_t{64} << 10;

std::string describe(FrameFault fault) {
  switch (fault) {
    case FrameFault::kNone:
      return {};
    case FrameFault::kOversized:
      return "sent an oversized frame";
    case FrameFault::kForged:
      return "sent a forged frame";
  }
  std::abort();
}

}  // namespace

Channel::Channel(FileDescriptor socket, const MacKey& send_key, const MacKey& receive_key)
    : socket_(std::move(socket)), writer_(send_key), reader_(receive_key) {}

void Channel::queue(std::string_view payload) {
  if (fault_.empty()) writer_.append(payload, outgoing_);
}

void Channel::write() {
  std::size_t written = 0;
  while (written < outgoing_.size()) {
    const ssize_t count = ::send(socket_.get(), outgoing_.data() + written,
                                 outgoing_.size() - written, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) break;
    written = count < 0 ? outgoing_.size() : written + static_cast<std::size_t>(count);
  }
  outgoing_.erase(0, written);
}

std::optional<std::string> Channel::read() {
  std::array<char, kPortion> portion;
  while (fault_.empty()) {
    if (auto payload = reader_.next()) return payload;
    fault_ = describe(reader_.fault());
    if (!fault_.empty()) break;
    const ssize_t count = ::recv(socket_.get(), portion.data(), portion.size(), MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return std::nullopt;
    if (count <= 0) {
      fault_ = "was lost";
      lost_ = true;
    } else {
      reader_.append({portion.data(), static_cast<std::size_t>(count)});
    }
  }
  socket_.reset();
  outgoing_.clear();
  return std::nullopt;
}

void Channel::close() {
  fault_ = "was lost";
  lost_ = true;
  socket_.reset();
  outgoing_.clear();
}

pollfd Channel::watched() const {
  const int events = all_written() ? POLLIN : POLLIN | POLLOUT;
  return {.fd = socket_.get(), .events = static_cast<short>(events), .revents = 0};
}

}  // namespace hoccl::hw
