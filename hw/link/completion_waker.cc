#include "hw/link/completion_waker.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

#include "hw/system/system_error.h"
#include "hw/system/warning.h"

namespace hoccl::hw {
namespace {

/// How exactly drains and probes keep their times.
constexpr int kIntervalMilliseconds = 20;

}  // namespace

CompletionWaker::CompletionWaker(const std::vector<std::unique_ptr<Nic>>& nics, Doorbell& doorbell)
    : nics_(nics), doorbell_(doorbell), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!wake_) throw SystemError("make an eventfd");
  thread_ = std::thread([this] { run(); });
}

CompletionWaker::~CompletionWaker() {
  stopping_.store(true);
  ring_self();
  thread_.join();
}

void CompletionWaker::ring_self() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
}

void CompletionWaker::ring_at_intervals(bool wanted) {
  if (at_intervals_.load(std::memory_order_relaxed) == wanted) return;
  at_intervals_.store(wanted);
  if (wanted) ring_self();
}

void CompletionWaker::run() {
  std::vector<pollfd> watched{{.fd = wake_.get(), .events = POLLIN, .revents = 0}};
  for (const auto& nic : nics_) {
    watched.push_back({.fd = nic->wait_descriptor(), .events = POLLIN, .revents = 0});
    watched.push_back({.fd = nic->event_descriptor(), .events = POLLIN, .revents = 0});
  }
  while (!stopping_.load()) {
    const bool at_intervals = at_intervals_.load();
    const int count =
        ::poll(watched.data(), watched.size(), at_intervals ? kIntervalMilliseconds : -1);
    if (watched[0].revents != 0) {
      std::uint64_t rings = 0;
      [[maybe_unused]] const ssize_t read = ::read(wake_.get(), &rings, sizeof rings);
    }
    bool is_news = count == 0 && at_intervals;
    for (pollfd& one : watched) {
      if ((one.revents & (POLLERR | POLLHUP | POLLNVAL)) != 0) one.fd = -1;  // its NIC has gone
    }
    for (std::size_t i = 0; i < nics_.size(); ++i) {
      if (watched[1 + 2 * i].revents != 0) {
        nics_[i]->take_events();
        is_news = true;
      }
      if (watched[2 + 2 * i].revents != 0) {
        const std::string event = nics_[i]->take_port_event();
        if (!event.empty()) warn(fmt::format("hoccl: {}\n", event));
        is_news = true;
      }
    }
    if (is_news) doorbell_.ring();
  }
}

}  // namespace hoccl::hw
