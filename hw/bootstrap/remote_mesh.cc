#include "hw/bootstrap/remote_mesh.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "engine/base/check.h"
#include "hw/bootstrap/bootstrap_error.h"
#include "hw/bootstrap/channel.h"
#include "hw/bootstrap/deadline.h"
#include "hw/bootstrap/doorkeeper.h"
#include "hw/bootstrap/program_version.h"
#include "hw/bootstrap/sockets.h"
#include "hw/bootstrap/visit.h"
#include "hw/system/system_error.h"
#include "hw/system/warning.h"

namespace hoccl::hw {

using engine::Rank;

namespace {

/// For a peer that does not read, to take the last frames and the goodbye.
constexpr engine::Seconds kGoodbyeTime{5.0};
// The first byte of a frame.
constexpr char kData = 'd';
constexpr char kGoodbye = 'g';

/// Where a rank listens: "port address".
Meeting meeting_at(const std::string& place, Rank self, int job_size, Rank server,
                   const MacKey& key) {
  std::uint16_t port = 0;
  const char* end = place.data() + place.size();
  const auto [rest, error] = std::from_chars(place.data(), end, port);
  if (error != std::errc() || rest == end || *rest != ' ') {
    throw BootstrapError(
        fmt::format("rank {} listens at '{}', which is no address", server, place));
  }
  return {self, job_size, server, std::string(rest + 1, end), {port}, key};
}

/// One connection to each peer.
std::map<Rank, Channel> connect_remote_ranks(Bootstrap& bootstrap, const std::vector<Rank>& peers) {
  const Rank self = bootstrap.rank();
  const Deadline deadline(bootstrap.options().timeout);
  const MacKey key = bootstrap.secret().key(kRemoteMeshPurpose);
  const Introduction introduction{
      .rank = self, .job_size = bootstrap.size(), .program_version = program_version()};
  const std::string address = bootstrap.own_address();
  FileDescriptor listener = listen_on_first_free(address, std::vector<std::uint16_t>{0});
  const std::string place = fmt::format("{} {}", port_of(listener), address);
  Doorkeeper doorkeeper(std::move(listener), key, introduction, bootstrap.options().hello_timeout);
  // After this exchange every rank listens.
  const std::vector<std::string> places = bootstrap.all_gather(place);

  std::map<Rank, Channel> channels;
  // In ascending order each waits only for ranks below it, so for nobody in a circle.
  for (const Rank peer : peers) {
    if (peer > self) continue;
    const Meeting meeting = meeting_at(places[peer.index()], self, bootstrap.size(), peer, key);
    channels.emplace(peer, visit(meeting, bootstrap.options(), deadline));
  }
  while (true) {
    for (Doorkeeper::Guest& guest : doorkeeper.serve()) {
      // A rank that is no peer has no business here, although it is of the job.
      if (std::ranges::find(peers, guest.rank) == peers.end()) continue;
      channels.emplace(
          guest.rank, Channel(std::move(guest.socket), guest.keys.to_client, guest.keys.to_server));
    }
    std::vector<Rank> missing;
    for (const Rank peer : peers) {
      if (!channels.contains(peer)) missing.push_back(peer);
    }
    if (missing.empty()) break;
    if (deadline.passed()) {
      throw BootstrapError(fmt::format("ranks {} did not connect to rank {} within {} s",
                                       fmt::join(missing, ", "), self,
                                       bootstrap.options().timeout.count()));
    }
    std::vector<pollfd> watched;
    bootstrap.add_to(watched);
    doorkeeper.add_to(watched);
    const Deadline wake = std::min(deadline, doorkeeper.deadline().value_or(deadline));
    ::poll(watched.data(), watched.size(), wake.poll_milliseconds());
    bootstrap.require_nobody_lost();
  }
  // Who leaves while others still wait is lost to them.
  bootstrap.barrier();
  return channels;
}

}  // namespace

struct RemoteMesh::Impl {
  struct Peer {
    explicit Peer(Channel of) : channel(std::move(of)) {}
    Channel channel;
    bool has_left = false;  ///< it has said goodbye
    bool is_cut = false;
    bool is_lost = false;
  };

  void ring() const {
    const std::uint64_t one = 1;  // the only failure is a full counter, and then it rings already
    [[maybe_unused]] const ssize_t written = ::write(wake.get(), &one, sizeof one);
  }

  /// Until it is closing and everything is written.
  void run() {
    std::optional<Deadline> end;
    while (true) {
      std::vector<pollfd> watched{{.fd = wake.get(), .events = POLLIN, .revents = 0}};
      bool all_written = true;
      for (auto& [rank, peer] : peers) {
        const std::scoped_lock lock(mutex);
        if (peer.is_lost) continue;
        peer.channel.write();
        all_written = all_written && peer.channel.all_written();
        watched.push_back(peer.channel.watched());
      }
      if (closing.load()) {
        if (!end) end.emplace(kGoodbyeTime);
        if (all_written || end->passed()) return;
      }
      ::poll(watched.data(), watched.size(), end ? end->poll_milliseconds() : -1);
      if (watched[0].revents != 0) {
        std::uint64_t count = 0;
        [[maybe_unused]] const ssize_t read = ::read(wake.get(), &count, sizeof count);
      }
      for (auto& [rank, peer] : peers) hear(rank, peer);
    }
  }

  void hear(Rank rank, Peer& peer) {
    if (peer.is_lost) return;
    while (true) {
      std::optional<std::string> frame;
      std::string fault;
      {
        const std::scoped_lock lock(mutex);
        if (peer.is_cut) peer.channel.close();
        frame = peer.channel.read();
        fault = peer.channel.lost() ? "" : peer.channel.fault();
        if (!frame) peer.is_lost = !peer.channel.fault().empty();
      }
      if (!frame) {
        if (!fault.empty()) warn(fmt::format("hoccl: rank {} {}\n", rank, fault));
        if (peer.is_lost) on_lost(rank, !peer.has_left);
        return;
      }
      if (*frame == std::string(1, kGoodbye)) {
        peer.has_left = true;
      } else if (!frame->empty() && frame->front() == kData) {
        on_frame(rank, std::string_view(*frame).substr(1));
      }
    }
  }

  FileDescriptor wake{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  std::map<Rank, Peer> peers;  ///< its shape never changes
  std::mutex mutex;            ///< of the channels
  OnFrame on_frame = [](Rank, std::string_view) {};
  OnLost on_lost = [](Rank, bool) {};
  std::atomic<bool> closing = false;
  std::thread thread;
};

RemoteMesh::RemoteMesh(Bootstrap& bootstrap, const std::vector<Rank>& peers)
    : impl_(std::make_unique<Impl>()) {
  if (!impl_->wake) throw SystemError("make an eventfd");
  for (auto& [rank, channel] : connect_remote_ranks(bootstrap, peers)) {
    channel.expect_answers_within(kSilence);
    impl_->peers.emplace(rank, std::move(channel));
  }
}

RemoteMesh::~RemoteMesh() {
  {
    const std::scoped_lock lock(impl_->mutex);
    for (auto& [rank, peer] : impl_->peers) peer.channel.queue(std::string(1, kGoodbye));
  }
  impl_->closing.store(true);
  if (!impl_->thread.joinable()) {
    impl_->run();
    return;
  }
  impl_->ring();
  impl_->thread.join();
}

void RemoteMesh::start(OnFrame on_frame, OnLost on_lost) {
  HOCCL_CHECK(!impl_->thread.joinable(), "the remote mesh has been started before");
  impl_->on_frame = std::move(on_frame);
  impl_->on_lost = std::move(on_lost);
  impl_->thread = std::thread([this] { impl_->run(); });
}

void RemoteMesh::send(Rank peer, std::string_view frame) {
  const auto entry = impl_->peers.find(peer);
  HOCCL_CHECK(entry != impl_->peers.end(), "rank {} is no remote peer", peer);
  {
    const std::scoped_lock lock(impl_->mutex);
    entry->second.channel.queue(std::string(1, kData).append(frame));
  }
  impl_->ring();
}

void RemoteMesh::cut(Rank peer) {
  {
    const std::scoped_lock lock(impl_->mutex);
    impl_->peers.at(peer).is_cut = true;
  }
  impl_->ring();
}

}  // namespace hoccl::hw
