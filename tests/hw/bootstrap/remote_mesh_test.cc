#include "hw/bootstrap/remote_mesh.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <charconv>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "hw/bootstrap/bootstrap_error.h"
#include "hw/bootstrap/program_version.h"
#include "hw/bootstrap/visit.h"
#include "tests/hw/bootstrap/stranger.h"
#include "tests/hw/bootstrap/thread_job.h"

namespace hoccl::hw::test {
namespace {

using engine::Rank;
using engine::Seconds;
using testing::HasSubstr;

constexpr auto kPatience = std::chrono::seconds(20);

/// What one rank was told by its mesh.
class Log {
 public:
  void start(RemoteMesh& mesh) {
    mesh.start(
        [this](Rank peer, std::string_view frame) {
          const std::scoped_lock lock(mutex_);
          frames_[peer].emplace_back(frame);
          changed_.notify_all();
        },
        [this](Rank peer, bool died) {
          const std::scoped_lock lock(mutex_);
          lost_.emplace_back(peer, died);
          frames_at_loss_[peer] = frames_[peer].size();
          changed_.notify_all();
        });
  }
  std::vector<std::string> await_frames(Rank peer, std::size_t count) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, kPatience, [&] { return frames_[peer].size() >= count; }));
    return frames_[peer];
  }
  /// The first loss, and how many frames had come before it.
  std::pair<std::pair<Rank, bool>, std::size_t> await_loss() {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, kPatience, [&] { return !lost_.empty(); }));
    if (lost_.empty()) return {};
    return {lost_.front(), frames_at_loss_[lost_.front().first]};
  }
  std::size_t losses() {
    const std::scoped_lock lock(mutex_);
    return lost_.size();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Rank, std::vector<std::string>> frames_;
  std::map<Rank, std::size_t> frames_at_loss_;
  std::vector<std::pair<Rank, bool>> lost_;
};

/// Ranks 0 and 1 on one node, 2 and 3 on another: each is connected to both of the other.
struct Job {
  Job() : bootstraps(connect_all(4)), logs(4), meshes(4) {
    const auto errors = run_ranks(4, [&](int rank) {
      const auto index = static_cast<std::size_t>(rank);
      const std::vector<Rank> peers =
          rank < 2 ? std::vector{Rank(2), Rank(3)} : std::vector{Rank(0), Rank(1)};
      meshes[index] = std::make_unique<RemoteMesh>(*bootstraps[index], peers);
      logs[index].start(*meshes[index]);
    });
    for (const std::string& error : errors) EXPECT_EQ(error, "");
  }

  std::vector<std::unique_ptr<Bootstrap>> bootstraps;
  std::vector<Log> logs;
  std::vector<std::unique_ptr<RemoteMesh>> meshes;
};

TEST(RemoteMesh, CarriesFramesInOrderAndWhole) {
  Job job;
  const std::string large((std::size_t{1} << 20) - 1, 'x');
  std::vector<std::string> sent = {"first", "", large, "last"};
  for (const std::string& frame : sent) {
    job.meshes[0]->send(Rank(3), frame);
    job.meshes[3]->send(Rank(0), frame);
  }
  EXPECT_EQ(job.logs[3].await_frames(Rank(0), sent.size()), sent);
  EXPECT_EQ(job.logs[0].await_frames(Rank(3), sent.size()), sent);
}

TEST(RemoteMesh, TellsThatARankHasLeftAfterItsLastFrame) {
  Job job;
  for (int i = 0; i < 100; ++i) job.meshes[2]->send(Rank(1), "x");
  job.meshes[2].reset();
  const auto [loss, frames] = job.logs[1].await_loss();
  EXPECT_EQ(loss, std::make_pair(Rank(2), false));
  EXPECT_EQ(frames, 100U);
}

TEST(RemoteMesh, ACutIsADeathOnBothSides) {
  Job job;
  job.meshes[0]->cut(Rank(2));
  EXPECT_EQ(job.logs[0].await_loss().first, std::make_pair(Rank(2), true));
  EXPECT_EQ(job.logs[2].await_loss().first, std::make_pair(Rank(0), true));
  job.meshes[0]->send(Rank(2), "nobody hears this");
  job.meshes[1]->send(Rank(2), "others go on");
  EXPECT_EQ(job.logs[2].await_frames(Rank(1), 1).front(), "others go on");
  EXPECT_EQ(job.logs[0].losses(), 1U);
}

TEST(RemoteMesh, NamesARankThatDoesNotCome) {
  BootstrapOptions options;
  options.timeout = Seconds(0.5);
  const auto bootstraps = connect_all(2, options);
  const auto errors = run_ranks(2, [&](int rank) {
    if (rank == 0) {
      const RemoteMesh mesh(*bootstraps[0], {Rank(1)});
    } else {
      bootstraps[1]->all_gather("1 ");  // and never connects
      std::this_thread::sleep_for(std::chrono::seconds(1));
    }
  });
  EXPECT_THAT(errors[0], HasSubstr("ranks 1 did not connect to rank 0"));
}

/// Rank 0's mesh forms while `attack` does what it likes with its port, and rank 1, which alone
/// knows the job's secret, comes after that.
void forms_in_spite_of(const std::function<void(std::uint16_t port, const JobSecret&)>& attack) {
  const auto bootstraps = connect_all(2);
  Log log;
  const auto errors = run_ranks(2, [&](int rank) {
    Bootstrap& bootstrap = *bootstraps[static_cast<std::size_t>(rank)];
    if (rank == 0) {
      RemoteMesh mesh(bootstrap, {Rank(1)});
      log.start(mesh);
      EXPECT_EQ(log.await_frames(Rank(1), 1).front(), "hello");
      bootstrap.barrier();
      return;
    }
    const std::string place = bootstrap.all_gather("1 ")[0];
    std::uint16_t port = 0;
    std::from_chars(place.data(), place.data() + place.size(), port);
    attack(port, bootstrap.secret());
    const Meeting meeting{.self = Rank(1),
                          .job_size = 2,
                          .server = Rank(0),
                          .host = "",
                          .ports = {port},
                          .key = bootstrap.secret().key(kRemoteMeshPurpose)};
    Channel channel = hw::visit(meeting, bootstrap.options(), Deadline(Seconds(20.0)));
    bootstrap.barrier();
    channel.queue("dhello");  // d: data
    while (!channel.all_written()) channel.write();
    bootstrap.barrier();
  });
  for (const std::string& error : errors) EXPECT_EQ(error, "");
}

const Introduction kRank1{.rank = Rank(1), .job_size = 2, .program_version = program_version()};

TEST(RemoteMesh, LetsNobodyInWithAnotherSecret) {
  forms_in_spite_of([](std::uint16_t port, const JobSecret&) {
    const Visitor visitor = test::visit(port, JobSecret::generate(), kRank1);
    EXPECT_NE(visitor.state(), Visitor::State::kAccepted);
  });
}

TEST(RemoteMesh, LetsNobodyInWithAHelloForAnotherDoorOfTheJob) {
  forms_in_spite_of([](std::uint16_t port, const JobSecret& secret) {
    // The right secret, but the key of the rendezvous.
    const Visitor visitor = test::visit(port, secret, kRank1);
    EXPECT_NE(visitor.state(), Visitor::State::kAccepted);
  });
}

TEST(RemoteMesh, LetsNobodyInWithARecordedHello) {
  forms_in_spite_of([](std::uint16_t port, const JobSecret& secret) {
    const MacKey key = secret.key(kRemoteMeshPurpose);
    const auto greeting_of = [&](const FileDescriptor& socket) {
      GreetingBytes greeting{};
      const std::string text = receive_text(socket, greeting.size());
      std::memcpy(greeting.data(), text.data(), std::min(text.size(), greeting.size()));
      return greeting;
    };
    HelloBytes recorded{};
    {
      const FileDescriptor socket = connect_to(port);
      recorded = make_hello(key, greeting_of(socket), kRank1, Nonce{});
    }
    const FileDescriptor socket = connect_to(port);
    (void)greeting_of(socket);
    send_text(socket, std::string(reinterpret_cast<const char*>(recorded.data()), recorded.size()));
    EXPECT_TRUE(is_closed(socket));
  });
}

TEST(RemoteMesh, FormsInAFloodOfStrangersAndGarbage) {
  std::vector<FileDescriptor> silent;
  forms_in_spite_of([&](std::uint16_t port, const JobSecret&) {
    for (int i = 0; i < 300; ++i) silent.push_back(connect_to(port));
    const FileDescriptor talker = connect_to(port);
    send_text(talker, std::string(4096, '\xff'));
    EXPECT_TRUE(is_closed(talker));
  });
}

TEST(RemoteMesh, EndsAConnectionWithAForgedFrame) {
  const auto bootstraps = connect_all(2);
  Log log;
  const auto errors = run_ranks(2, [&](int rank) {
    Bootstrap& bootstrap = *bootstraps[static_cast<std::size_t>(rank)];
    if (rank == 0) {
      RemoteMesh mesh(bootstrap, {Rank(1)});
      log.start(mesh);
      EXPECT_EQ(log.await_loss().first, std::make_pair(Rank(1), true));
      bootstrap.barrier();
      return;
    }
    const std::string place = bootstrap.all_gather("1 ")[0];
    std::uint16_t port = 0;
    std::from_chars(place.data(), place.data() + place.size(), port);
    Visitor visitor(connect_to(port), bootstrap.secret().key(kRemoteMeshPurpose), kRank1, Rank(0));
    while (visitor.advance() == Visitor::State::kWaiting) std::this_thread::yield();
    ASSERT_EQ(visitor.state(), Visitor::State::kAccepted);
    const FileDescriptor socket = visitor.take_socket();
    bootstrap.barrier();
    // A payload of one byte, and a MAC that nobody made.
    send_text(socket, std::string("\x01\0\0\0d", 5) + std::string(32, 'm'));
    bootstrap.barrier();
  });
  for (const std::string& error : errors) EXPECT_EQ(error, "");
}

}  // namespace
}  // namespace hoccl::hw::test
