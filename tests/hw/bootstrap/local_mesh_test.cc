#include "hw/node/local_mesh.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "hw/bootstrap/deadline.h"
#include "hw/node/mesh_rendezvous.h"
#include "tests/hw/bootstrap/mesh_log.h"
#include "tests/hw/bootstrap/mesh_pair.h"
#include "tests/hw/bootstrap/thread_job.h"

namespace hoccl::hw::test {
namespace {

using engine::Rank;
using testing::ElementsAre;

/// A mesh and what its rank was told.
struct MeshRank {
  explicit MeshRank(Bootstrap& bootstrap) : mesh(bootstrap) { log.start(mesh); }

  MeshLog log;
  LocalMesh mesh;
};

struct MeshJob {
  explicit MeshJob(int size) : bootstraps(connect_all(size)), ranks(bootstraps.size()) {
    const auto errors = run_ranks(size, [&](int rank) {
      const auto index = static_cast<std::size_t>(rank);
      ranks[index] = std::make_unique<MeshRank>(*bootstraps[index]);
    });
    for (const std::string& error : errors) EXPECT_EQ(error, "");
  }
  MeshRank& operator[](int rank) { return *ranks[static_cast<std::size_t>(rank)]; }

  std::vector<std::unique_ptr<Bootstrap>> bootstraps;
  std::vector<std::unique_ptr<MeshRank>> ranks;
};

std::span<const std::byte> bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

TEST(LocalMesh, EveryRankHearsEveryOtherInOrder) {
  constexpr int kSize = 5;
  constexpr int kPackets = 200;
  MeshJob job(kSize);
  run_ranks(kSize, [&](int rank) {
    for (int packet = 0; packet < kPackets; ++packet) {
      for (int peer = 0; peer < kSize; ++peer) {
        if (peer != rank) job[rank].mesh.send(Rank(peer), bytes(std::to_string(packet)));
      }
    }
  });
  std::vector<std::string> expected;
  for (int packet = 0; packet < kPackets; ++packet) expected.push_back(std::to_string(packet));
  for (int rank = 0; rank < kSize; ++rank) {
    for (int peer = 0; peer < kSize; ++peer) {
      if (peer == rank) continue;
      EXPECT_EQ(job[rank].log.await_packets(Rank(peer), kPackets), expected);
    }
  }
}

TEST(LocalMesh, ADescriptorIsTheSameOpenFileAndCloseOnExec) {
  MeshJob job(2);
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const FileDescriptor read_end(ends[0]);
  FileDescriptor write_end(ends[1]);
  job[1].mesh.send(Rank(0), bytes("pipe"), {{read_end.get(), write_end.get()}});
  write_end.reset();
  EXPECT_THAT(job[0].log.await_packets(Rank(1), 1), ElementsAre("pipe"));
  std::vector<FileDescriptor> received = job[0].log.take_descriptors();
  ASSERT_EQ(received.size(), 2U);
  EXPECT_NE(::fcntl(received[1].get(), F_GETFD) & FD_CLOEXEC, 0);
  ASSERT_EQ(::write(received[1].get(), "x", 1), 1);
  char letter = 0;
  ASSERT_EQ(::read(read_end.get(), &letter, 1), 1);
  EXPECT_EQ(letter, 'x');
}

/// Two meshes that do not receive yet, and far more packets on their way than a socket holds.
struct Backlog {
  static constexpr int kPackets = 3000;

  Backlog() {
    const std::array<int, 1> descriptor{STDERR_FILENO};
    for (int packet = 0; packet < kPackets; ++packet) {
      packets.push_back(std::to_string(packet));
      meshes[0]->send(Rank(1), bytes(packets.back()),
                      std::span(descriptor).first(packet % 100 == 0 ? 1 : 0));
    }
  }

  std::array<MeshLog, 2> logs;
  MeshPair pair;
  std::array<std::unique_ptr<LocalMesh>, 2>& meshes = pair.meshes;
  std::vector<std::string> packets;
};

TEST(LocalMesh, APeerThatDoesNotReadHoldsUpNobodyAndMissesNothing) {
  Backlog backlog;
  backlog.logs[0].start(*backlog.meshes[0]);
  backlog.logs[1].start(*backlog.meshes[1]);
  EXPECT_EQ(backlog.logs[1].await_packets(Rank(0), Backlog::kPackets), backlog.packets);
  EXPECT_EQ(backlog.logs[1].take_descriptors().size(), Backlog::kPackets / 100U);
}

TEST(LocalMesh, ARankThatLeavesDeliversEverythingBeforeItsGoodbye) {
  Backlog backlog;
  std::thread leaving([&] { backlog.meshes[0].reset(); });
  backlog.logs[1].start(*backlog.meshes[1]);
  EXPECT_EQ(backlog.logs[1].await_end(Rank(0)), MeshLog::End::kLeft);
  EXPECT_EQ(backlog.logs[1].await_packets(Rank(0), Backlog::kPackets), backlog.packets);
  leaving.join();
}

TEST(LocalMesh, ARankThatLeavesSaysGoodbyeAfterItsLastPacket) {
  MeshJob job(3);
  job[2].mesh.send(Rank(0), bytes("last"));
  job.ranks[2].reset();
  EXPECT_EQ(job[0].log.await_end(Rank(2)), MeshLog::End::kLeft);
  EXPECT_EQ(job[1].log.await_end(Rank(2)), MeshLog::End::kLeft);
  EXPECT_THAT(job[0].log.await_packets(Rank(2), 1), ElementsAre("last"));
  job[0].mesh.send(Rank(2), bytes("too late"));
}

TEST(LocalMesh, ARankThatLeavesWithoutReadingStillSaysGoodbye) {
  MeshJob job(2);
  for (int packet = 0; packet < 100; ++packet) job[0].mesh.send(Rank(1), bytes("unread"));
  job.ranks[1].reset();
  EXPECT_EQ(job[0].log.await_end(Rank(1)), MeshLog::End::kLeft);
}

TEST(LocalMesh, TwoMeshesOfOneJobDoNotMix) {
  auto bootstraps = connect_all(3);
  const auto errors = run_ranks(3, [&](int rank) {
    Bootstrap& bootstrap = *bootstraps[static_cast<std::size_t>(rank)];
    const LocalMesh first(bootstrap);
    const LocalMesh second(bootstrap);
  });
  EXPECT_THAT(errors, testing::Each(""));
}

TEST(LocalMesh, ARankLostBeforeAllAreConnectedIsNamedOnEveryOtherLongBeforeTheTimeout) {
  auto bootstraps = connect_all(4);
  const Deadline patience(bootstraps[0]->options().timeout / 3.0);
  const auto errors = run_ranks(4, [&](int rank) {
    auto& bootstrap = bootstraps[static_cast<std::size_t>(rank)];
    if (rank == 2) {
      bootstrap->all_gather("a name that nobody listens at");
      bootstrap.reset();
    } else {
      const LocalMesh mesh(*bootstrap);
    }
  });
  EXPECT_THAT(errors, ElementsAre("rank 2 was lost", "rank 2 was lost", "", "rank 2 was lost"));
  EXPECT_FALSE(patience.passed());
}

TEST(LocalMesh, DoesNotKillARankOfTheOwnProcess) {
  MeshJob job(2);
  EXPECT_FALSE(job[0].mesh.kill_peer(Rank(1)));
  job[0].mesh.send(Rank(1), bytes("still there"));
  EXPECT_THAT(job[1].log.await_packets(Rank(0), 1), ElementsAre("still there"));
}

TEST(LocalMesh, RefusesAnotherUser) {
  EXPECT_FALSE(objection_to_user(1000, 1000).has_value());
  EXPECT_EQ(objection_to_user(0, 1000).value(), "it belongs to user 0, not 1000");
}

}  // namespace
}  // namespace hoccl::hw::test
