#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <set>
#include <string>
#include <thread>

#include "engine/base/random.h"
#include "hw/bootstrap/bootstrap_error.h"
#include "hw/bootstrap/channel.h"
#include "hw/bootstrap/program_version.h"
#include "hw/bootstrap/refusal_log.h"
#include "hw/bootstrap/sockets.h"
#include "hw/bootstrap/star_message.h"
#include "hw/bootstrap/wire_bytes.h"
#include "tests/hw/bootstrap/stranger.h"
#include "tests/hw/bootstrap/thread_job.h"

namespace hoccl::hw::test {
namespace {

using engine::Rank;
using engine::Seconds;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

/// A job whose rank 0 waits for the others while a test plays a stranger.
class OpenJob {
 public:
  explicit OpenJob(int size, const BootstrapOptions& options = {})
      : options_(options), launches_(make_launches(size)) {
    testing::internal::CaptureStderr();
    rank_0_ = std::thread([this] { error_ = join(0); });
  }
  ~OpenJob() {
    if (rank_0_.joinable()) finish();
  }
  OpenJob(const OpenJob&) = delete;
  OpenJob& operator=(const OpenJob&) = delete;

  [[nodiscard]] std::uint16_t port() const { return launches_[0].ports.front(); }
  [[nodiscard]] const JobSecret& secret() const { return launches_[0].secret; }
  [[nodiscard]] Introduction introduction(int rank) const {
    return {
        .rank = Rank(rank), .job_size = launches_[0].size, .program_version = program_version()};
  }
  /// Connects the others, except `absent`; the error of every rank.
  std::vector<std::string> finish(const std::set<int>& absent = {}) {
    auto errors = run_ranks(launches_[0].size, [&](int rank) {
      if (rank == 0) {
        rank_0_.join();
        if (!error_.empty()) throw BootstrapError(error_);
      } else if (!absent.contains(rank)) {
        const std::string error = join(rank);
        if (!error.empty()) throw BootstrapError(error);
      }
    });
    stderr_ = testing::internal::GetCapturedStderr();
    return errors;
  }
  /// What the job has said on stderr, after finish().
  [[nodiscard]] const std::string& said() const { return stderr_; }

 private:
  std::string join(int rank) {
    try {
      const auto bootstrap =
          Bootstrap::connect(launches_[static_cast<std::size_t>(rank)], options_);
      if (bootstrap->all_gather(std::to_string(rank)).at(static_cast<std::size_t>(rank)) !=
          std::to_string(rank)) {
        return "wrong blob";
      }
      return "";
    } catch (const BootstrapError& error) {
      return error.what();
    }
  }

  BootstrapOptions options_;
  std::vector<Launch> launches_;
  std::thread rank_0_;
  std::string error_;
  std::string stderr_;
};

std::size_t count_lines(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

TEST(Rendezvous, RefusesAWrongSecretAndSaysSoOnce) {
  OpenJob job(3);
  for (int attempt = 0; attempt < 5; ++attempt) {
    const Visitor visitor = visit(job.port(), JobSecret::generate(), job.introduction(1));
    EXPECT_EQ(visitor.state(), Visitor::State::kStranger);
    EXPECT_EQ(visitor.reason(), "it does not know this job's secret");
  }
  EXPECT_THAT(job.finish(), Each(""));
  EXPECT_THAT(job.said(), testing::MatchesRegex(
                              "hoccl: rank 0: refused a connection from 127.0.0.1:[0-9]+: wrong "
                              "secret\nhoccl: rank 0: refused 4 more connections\n"));
}

TEST(Rendezvous, RefusesAnotherProgramVersionAndTellsBothSides) {
  OpenJob job(2);
  Introduction old = job.introduction(1);
  old.program_version = "0.0.9";
  const Visitor visitor = visit(job.port(), job.secret(), old);
  EXPECT_EQ(visitor.state(), Visitor::State::kRefused);
  EXPECT_EQ(visitor.reason(), "it runs version " + program_version() + ", this rank 0.0.9");
  EXPECT_THAT(job.finish(), Each(""));
  EXPECT_THAT(job.said(), HasSubstr("rank 1 runs version 0.0.9, this is " + program_version()));
}

TEST(Rendezvous, RefusesADuplicateRank) {
  OpenJob job(3);
  Visitor first = visit(job.port(), job.secret(), job.introduction(1));
  EXPECT_EQ(first.state(), Visitor::State::kAccepted);
  const Visitor second = visit(job.port(), job.secret(), job.introduction(1));
  EXPECT_EQ(second.state(), Visitor::State::kDuplicate);
  EXPECT_EQ(second.reason(), "a rank 1 is already there");
  // The first one was only a stand-in: it leaves without a word, and its place is free again.
  first.take_socket().reset();
  EXPECT_THAT(job.finish(), Each(""));
  EXPECT_THAT(job.said(), HasSubstr("rank 1 is already there"));
}

TEST(Rendezvous, ARankWhoseTimeWasOverBeforeItsVerdictIsLetInAtItsNextTry) {
  OpenJob job(2);
  FileDescriptor late = connect_to(job.port());
  const std::string text = receive_text(late, sizeof(GreetingBytes));
  GreetingBytes greeting;
  ASSERT_EQ(text.size(), greeting.size());
  std::ranges::copy(bytes_of(text), greeting.begin());
  const HelloBytes hello = make_hello(job.secret().key(kRendezvousPurpose), greeting,
                                      job.introduction(1), Nonce{std::byte{1}});
  ASSERT_TRUE(send_all_now(late, hello));
  late.reset();
  EXPECT_THAT(job.finish(), Each(""));
}

TEST(Rendezvous, RefusesRanksOutOfRangeAndOfJobsOfAnotherSize) {
  OpenJob job(2);
  for (const int rank : {0, 2, -1, 1 << 30}) {
    const Visitor visitor = visit(job.port(), job.secret(), job.introduction(rank));
    EXPECT_EQ(visitor.state(), Visitor::State::kRefused);
    EXPECT_EQ(visitor.reason(), "it does not expect rank " + std::to_string(rank));
  }
  Introduction larger = job.introduction(1);
  larger.job_size = 3;
  EXPECT_EQ(visit(job.port(), job.secret(), larger).reason(), "it expects 2 ranks, this rank 3");
  EXPECT_THAT(job.finish(), Each(""));
  EXPECT_THAT(job.said(), AllOf(HasSubstr("rank 2 is not one of 1 to 1"),
                                HasSubstr("rank 1 expects 3 ranks, not 2")));
}

TEST(Rendezvous, NamesTheMissingRanksOnAllThatAreThere) {
  OpenJob job(5, {.timeout = Seconds(1.0)});
  const std::string expected = "ranks 2, 3 did not appear within 1 s";
  EXPECT_THAT(job.finish({2, 3}), ElementsAre(expected, expected, "", "", expected));
}

TEST(Rendezvous, SaysSoWhenRankZeroDoesNotAppear) {
  std::vector<Launch> launches = make_launches(2);
  FileDescriptor(launches[0].listening_socket).reset();
  try {
    Bootstrap::connect(launches[1], {.timeout = Seconds(0.1)});
    FAIL() << "nobody was there";
  } catch (const BootstrapError& error) {
    EXPECT_THAT(error.what(), AllOf(StartsWith("rank 0 did not appear on this host within 0.1 s"),
                                    HasSubstr("Connection refused")));
  }
}

TEST(Rendezvous, ARankWithAWrongSecretLearnsWhyItDoesNotGetIn) {
  std::vector<Launch> launches = make_launches(2);
  launches[1].secret = JobSecret::generate();
  const auto errors = run_ranks(2, [&](int rank) {
    Bootstrap::connect(launches[static_cast<std::size_t>(rank)], {.timeout = Seconds(0.5)});
  });
  EXPECT_EQ(errors[0], "rank 1 did not appear within 0.5 s");
  EXPECT_THAT(errors[1], HasSubstr("it does not know this job's secret"));
}

TEST(Rendezvous, GarbageAndHalfHellosAreRefusedAndTheJobGoesOn) {
  OpenJob job(4);
  const FileDescriptor garbage = connect_to(job.port());
  send_text(garbage, "GET / HTTP/1.1\r\n" + std::string(200, 'x'));
  EXPECT_TRUE(is_closed(garbage));
  FileDescriptor half = connect_to(job.port());
  send_text(half, "HOCCL");
  half.reset();
  connect_to(job.port()).reset();  // comes and goes without a word
  EXPECT_THAT(job.finish(), Each(""));
  EXPECT_EQ(count_lines(job.said()), 2U) << job.said();
  EXPECT_THAT(job.said(), HasSubstr("not a hello"));
}

TEST(Rendezvous, AReplayedHelloIsRefused) {
  OpenJob job(2);
  // The stranger stands between a rank and rank 0 and writes down what the rank says.
  LoopbackListener between = listen_on_loopback();
  std::thread rank([&] { visit(between.port, job.secret(), job.introduction(1)); });
  FileDescriptor to_rank;
  while (!to_rank) to_rank = accept_one(between.socket);
  FileDescriptor to_rank_0 = connect_to(job.port());
  send_text(to_rank, receive_text(to_rank_0, sizeof(GreetingBytes)));
  const std::string hello = receive_text(to_rank, sizeof(HelloBytes));
  ASSERT_EQ(hello.size(), sizeof(HelloBytes));
  to_rank.reset();
  rank.join();

  const FileDescriptor replay = connect_to(job.port());
  send_text(replay, hello);
  EXPECT_TRUE(is_closed(replay));
  EXPECT_THAT(job.finish(), Each(""));
  EXPECT_THAT(job.said(), HasSubstr("wrong secret"));
}

TEST(Rendezvous, ManySilentStrangersDelayNobody) {
  OpenJob job(8, {.timeout = Seconds(20.0), .hello_timeout = Seconds(60.0)});
  std::vector<FileDescriptor> silent;
  for (int i = 0; i < 300; ++i) {
    silent.push_back(connect_to(job.port()));
    send_text(silent.back(), "H");
  }
  EXPECT_THAT(job.finish(), Each(""));
  EXPECT_LE(count_lines(job.said()), RefusalLog::kMaxLines + 1U);
}

TEST(Rendezvous, AStrangerThatSpeaksTooSlowlyIsSentAway) {
  OpenJob job(2, {.hello_timeout = Seconds(0.1)});
  const FileDescriptor slow = connect_to(job.port());
  send_text(slow, "HOCCL");
  EXPECT_TRUE(is_closed(slow));
  EXPECT_THAT(job.finish(), Each(""));
  EXPECT_THAT(job.said(), HasSubstr("no hello in time"));
}

TEST(Rendezvous, AFloodOfStrangersDoesNotHoldUpTheJob) {
  OpenJob job(8, {.timeout = Seconds(20.0)});
  std::atomic<bool> flooding = true;
  std::thread flood([&] {
    constexpr std::uint64_t kSeed = 7;
    engine::Random random(kSeed);
    while (flooding) {
      std::string unused;
      const FileDescriptor socket = start_connecting(resolve("", job.port(), unused).at(0));
      if (!socket) continue;  // the job is complete and nobody listens
      std::string noise;
      for (std::int64_t size = random.between(0, 300); size > 0; --size) {
        noise.push_back(static_cast<char>(random.next()));
      }
      send_text(socket, noise);
    }
  });
  EXPECT_THAT(job.finish(), Each(""));
  flooding = false;
  flood.join();
  EXPECT_LE(count_lines(job.said()), RefusalLog::kMaxLines + 1U);
}

TEST(Rendezvous, ARankFindsItsWayPastStrangersOnTheFirstPorts) {
  std::vector<Launch> launches = make_launches(2);
  const LoopbackListener silent = listen_on_loopback();
  const LoopbackListener liar = listen_on_loopback();
  launches[1].ports = {silent.port, liar.port, launches[0].ports.front()};
  std::atomic<bool> lying = true;
  std::thread lies([&] {
    std::vector<FileDescriptor> fooled;
    const Introduction rank_0{.rank = Rank(0), .job_size = 2, .program_version = program_version()};
    while (lying) {
      pollfd watched{.fd = liar.socket.get(), .events = POLLIN, .revents = 0};
      ::poll(&watched, 1, 10);
      FileDescriptor socket = accept_one(liar.socket);
      if (!socket) continue;
      send_all_now(socket, make_greeting(rank_0, Nonce{}));
      send_text(socket, std::string(sizeof(VerdictBytes), '\0'));
      fooled.push_back(std::move(socket));
    }
  });
  const auto errors = run_ranks(2, [&](int rank) {
    Bootstrap::connect(launches[static_cast<std::size_t>(rank)], {.hello_timeout = Seconds(0.1)})
        ->barrier();
  });
  lying = false;
  lies.join();
  EXPECT_THAT(errors, Each(""));
}

/// Rank 1 of two, played by the test, whose connection turns out bad after it was let in.
std::string error_after(const std::function<void(const FileDescriptor&, const SessionKeys&)>& act) {
  OpenJob job(2);
  Visitor visitor = visit(job.port(), job.secret(), job.introduction(1));
  EXPECT_EQ(visitor.state(), Visitor::State::kAccepted);
  const SessionKeys keys = visitor.session_keys();
  const FileDescriptor socket = visitor.take_socket();
  act(socket, keys);
  return job.finish({1})[0];
}

TEST(Rendezvous, AForgedOversizedOrReplayedFrameEndsTheJobAndNamesTheRank) {
  EXPECT_EQ(error_after([](const FileDescriptor& socket, const SessionKeys&) {
              send_text(socket, std::string(100, '\0'));
            }),
            "rank 1 sent a forged frame");
  EXPECT_EQ(error_after([](const FileDescriptor& socket, const SessionKeys&) {
              send_text(socket, std::string(4, '\xff'));
            }),
            "rank 1 sent an oversized frame");
  EXPECT_EQ(error_after([](const FileDescriptor& socket, const SessionKeys& keys) {
              std::string frame;
              FrameWriter(keys.to_server).append(make_star_message(StarMessage::kBlob, "x"), frame);
              send_text(socket, frame + frame);
            }),
            "rank 1 sent a forged frame");
  EXPECT_EQ(
      error_after([](const FileDescriptor& socket, const SessionKeys& keys) {
        std::string frame;
        FrameWriter(keys.to_server).append(make_star_message(StarMessage::kFailure, ""), frame);
        send_text(socket, frame);
      }),
      "rank 1 spoke out of turn");
}

TEST(Rendezvous, ARankThatIsLostAfterItsFirstWordEndsTheJob) {
  OpenJob job(3);
  Visitor visitor = visit(job.port(), job.secret(), job.introduction(1));
  ASSERT_EQ(visitor.state(), Visitor::State::kAccepted);
  std::string frame;
  FrameWriter(visitor.session_keys().to_server)
      .append(make_star_message(StarMessage::kBlob, "x"), frame);
  const FileDescriptor socket = visitor.take_socket();
  send_text(socket, frame);
  ASSERT_EQ(::shutdown(socket.get(), SHUT_WR), 0);
  EXPECT_EQ(job.finish({1, 2})[0], "rank 1 was lost");
}

TEST(Rendezvous, AnInheritedDescriptorThatDoesNotListenIsRefused) {
  std::vector<Launch> launches = make_launches(2);
  FileDescriptor(launches[0].listening_socket).reset();
  launches[0].listening_socket = STDERR_FILENO;
  EXPECT_THAT([&] { Bootstrap::connect(launches[0], {}); },
              testing::ThrowsMessage<BootstrapError>(HasSubstr("listening socket 2")));
}

TEST(Rendezvous, RankZeroTakesTheFirstFreePort) {
  const LoopbackListener taken = listen_on_loopback();
  LoopbackListener free = listen_on_loopback();
  free.socket.reset();
  std::vector<Launch> launches = make_launches(2);
  FileDescriptor(launches[0].listening_socket).reset();
  for (Launch& launch : launches) {
    launch.listening_socket = -1;
    launch.ports = {taken.port, free.port};
  }
  EXPECT_THAT(run_ranks(2,
                        [&](int rank) {
                          Bootstrap::connect(launches[static_cast<std::size_t>(rank)],
                                             {.hello_timeout = Seconds(0.1)});
                        }),
              Each(""));
  launches[0].ports = {taken.port};
  EXPECT_THAT([&] { Bootstrap::connect(launches[0], {}); },
              testing::ThrowsMessage<BootstrapError>(HasSubstr("Address already in use")));
}

}  // namespace
}  // namespace hoccl::hw::test
