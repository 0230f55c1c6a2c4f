#include "tests/hw/job/hw_ranks.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <chrono>
#include <exception>

#include "hw/system/system_error.h"
#include "tests/support/byte_pattern.h"

namespace hoccl::hw {
namespace {

using engine::BufferHandle;
using engine::Bytes;
using engine::Rank;
using engine::Region;
using engine::Seconds;

/// For one request, sanitizers and a crowded machine included.
constexpr Seconds kAnswerTime(60.0);
constexpr std::chrono::microseconds kSettleInterval(300);

FileDescriptor listen_on_loopback(std::uint16_t& port) {
  FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (!socket || ::bind(socket.get(), generic, size) != 0 || ::listen(socket.get(), 64) != 0 ||
      ::getsockname(socket.get(), generic, &size) != 0) {
    throw SystemError("listen on the loopback interface");
  }
  port = ntohs(address.sin_port);
  return socket;
}

}  // namespace

HwRanks::HwRanks(JobSettings settings, Living living) : settings_(std::move(settings)) {
  start_hosts(living);
  call_all([](RankUnderTest& rank) { rank.start(); });
}

void HwRanks::start_hosts(Living living) {
  std::uint16_t port = 0;
  const FileDescriptor listening = listen_on_loopback(port);
  Launch launch{"test", Rank(0), count(), "", {port}, JobSecret::generate(), -1};
  std::vector<int> unwanted{listening.get()};
  for (int i = 0; i < count(); ++i) {
    launch.rank = Rank(i);
    launch.listening_socket = -1;
    if (i == 0) launch.listening_socket = ::fcntl(listening.get(), F_DUPFD_CLOEXEC, 0);
    const auto start = [this, launch]() -> RankHost::Answer {
      const auto rank = std::make_shared<RankUnderTest>(settings_, launch, trap_line_);
      return [rank](std::string_view request) {
        const auto thunk = take<Thunk>(request);
        return thunk(*rank, request);
      };
    };
    hosts_.push_back(std::make_unique<RankHost>(Rank(i), living, start, unwanted));
    unwanted.push_back(hosts_.back()->socket());
    // A process has a copy of its own; on a thread the bootstrap closes this one.
    if (i == 0 && living == Living::kProcess) ::close(launch.listening_socket);
  }
}

HwRanks::~HwRanks() {
  try {
    call_all([](RankUnderTest& rank) { rank.stop(); });
    for (const Rank rank : living()) hosts_[rank.index()]->end(kAnswerTime);
  } catch (const RankFailed& failure) {
    ADD_FAILURE() << failure.what();
  }
  hosts_.clear();
  const std::string left = leftovers_.find();
  EXPECT_EQ(left, "") << "is left of the job";
}

std::vector<Rank> HwRanks::living() const {
  std::vector<Rank> result;
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    if (hosts_[i]->alive()) result.emplace_back(i);
  }
  return result;
}

std::vector<std::string> HwRanks::answer_texts(const std::vector<Rank>& ranks) {
  std::vector<std::string> texts;
  std::exception_ptr failure;
  for (const Rank rank : ranks) {
    try {
      texts.push_back(hosts_.at(rank.index())->answer(kAnswerTime));
    } catch (const RankFailed&) {
      if (failure == nullptr) failure = std::current_exception();
    }
  }
  if (failure != nullptr) std::rethrow_exception(failure);
  return texts;
}

BufferHandle HwRanks::allocate(Rank owner, Bytes size) {
  return call(owner, [size](RankUnderTest& rank) { return rank.fabric().allocate(size); });
}

void HwRanks::fill(const Region& region, std::uint64_t message) {
  call(region.buffer.owner, [region, message](RankUnderTest& rank) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(region.size.count()));
    engine::fill_pattern(bytes, message);
    rank.fabric().write(region, bytes);
  });
}

bool HwRanks::holds(const Region& region, std::uint64_t message) {
  return call(region.buffer.owner, [region, message](RankUnderTest& rank) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(region.size.count()));
    rank.fabric().read(bytes, region);
    return !engine::first_difference(bytes, message).has_value();
  });
}

bool HwRanks::settle(const std::function<bool()>& all_calm, Seconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  bool was_calm = false;
  while (std::chrono::steady_clock::now() < deadline) {
    const bool is_calm = all_calm();
    if (is_calm && was_calm) return true;
    was_calm = is_calm;
    if (!is_calm) std::this_thread::sleep_for(kSettleInterval);
  }
  return false;
}

}  // namespace hoccl::hw
