// What a mesh does when the system is short of something, or a peer breaks the rules.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <future>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "hw/node/local_mesh.h"
#include "hw/node/mesh_packet.h"
#include "hw/node/mesh_rendezvous.h"
#include "tests/hw/bootstrap/mesh_log.h"
#include "tests/hw/bootstrap/mesh_pair.h"
#include "tests/hw/bootstrap/thread_job.h"

namespace hoccl::hw::test {
namespace {

using engine::Rank;

constexpr std::array<int, 1> kDescriptor{STDERR_FILENO};

std::span<const std::byte> bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

/// This process may have `more` open files, and not one more than that.
class FileLimit {
 public:
  explicit FileLimit(int more) {
    const FileDescriptor first_free(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0));
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    set_to(static_cast<rlim_t>(first_free.get() + more));
  }
  ~FileLimit() { set_to(before_.rlim_cur); }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;

 private:
  void set_to(rlim_t count) const {
    const rlimit limit{.rlim_cur = count, .rlim_max = before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  }

  rlimit before_{};
};

TEST(LocalMesh, WithoutFreeDescriptorsAQueuedPacketGoesWithoutThem) {
  constexpr int kPackets = 3000;  // far more than a socket holds
  std::array<MeshLog, 2> logs;
  MeshPair pair;
  for (int packet = 0; packet < kPackets; ++packet) pair.meshes[0]->send(Rank(1), bytes("x"));
  {
    const FileLimit none(0);
    pair.meshes[0]->send(Rank(1), bytes("with a descriptor"), kDescriptor);
  }
  for (std::size_t rank = 0; rank < 2; ++rank) logs[rank].start(*pair.meshes[rank]);
  EXPECT_EQ(logs[1].await_packets(Rank(0), kPackets + 1).back(), "with a descriptor");
  EXPECT_TRUE(logs[1].take_descriptors().empty());
}

bool is_starved() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) return false;
  const FileDescriptor near(ends[0]);
  const FileDescriptor far(ends[1]);
  return send_mesh_packet(near, MeshPacketKind::kData, {}, kDescriptor) == MeshSend::kStarved;
}

/// As a user whose descriptors on their way are limited: root's are not. Ends this process: 0 when
/// all packets arrived, 2 when nothing was short.
[[noreturn]] void send_more_descriptors_than_may_be_on_their_way() {
  constexpr uid_t kNobody = 65534;
  if (::geteuid() == 0 && ::setresuid(kNobody, kNobody, kNobody) != 0) ::_exit(3);
  std::promise<void> all_arrived;
  MeshPair pair;
  // Those of the queue must have room below the limit.
  const FileLimit limit(60);
  int sent = 0;
  while (!is_starved() && sent < 1000) {
    pair.meshes[0]->send(Rank(1), bytes("x"), kDescriptor);
    ++sent;
  }
  if (sent == 1000) ::_exit(2);
  for (int more = 0; more < 20; ++more) pair.meshes[0]->send(Rank(1), bytes("x"), kDescriptor);
  sent += 20;
  pair.meshes[0]->start([](LocalMesh::Packet) {}, [](Rank, bool) {});
  int arrived = 0;
  pair.meshes[1]->start(
      [&](LocalMesh::Packet packet) {
        arrived += static_cast<int>(packet.descriptors.size());
        if (arrived == sent) all_arrived.set_value();
      },
      [](Rank, bool) {});
  const auto outcome = all_arrived.get_future().wait_for(std::chrono::seconds(20));
  ::_exit(outcome == std::future_status::ready ? 0 : 1);
}

TEST(LocalMesh, WhenTooManyDescriptorsAreOnTheirWayTheNextOnesWait) {
  EXPECT_EXIT(send_more_descriptors_than_may_be_on_their_way(), testing::ExitedWithCode(0), "");
}

TEST(LocalMesh, APeerThatSendsTooLongAPacketIsLost) {
  auto bootstraps = connect_all(2);
  MeshLog log;
  std::unique_ptr<LocalMesh> mesh;
  std::vector<MeshLink> links;
  run_ranks(2, [&](int rank) {
    if (rank == 0) mesh = std::make_unique<LocalMesh>(*bootstraps[0]);
    if (rank == 1) links = connect_local_ranks(*bootstraps[1]);
  });
  testing::internal::CaptureStderr();
  log.start(*mesh);
  const std::string text(2 * LocalMesh::kMaxPayload, 'x');
  ASSERT_GT(::send(links[0].socket.get(), text.data(), text.size(), MSG_NOSIGNAL), 0);
  EXPECT_EQ(log.await_end(Rank(1)), MeshLog::End::kDied);
  mesh->send(Rank(1), bytes("too late"));
  mesh.reset();
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "hoccl: rank 0: listens no more to rank 1: receive a packet from a local rank: Message "
            "too long\n");
}

}  // namespace
}  // namespace hoccl::hw::test
