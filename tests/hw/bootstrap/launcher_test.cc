#include "hw/bootstrap/launcher.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "hw/system/file_descriptor.h"
#include "tests/hw/bootstrap/program_run.h"

namespace hoccl::hw::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// Every test reads the output to its end: it comes only when no process of the job is left.

TEST(Launcher, StartsRanksThatFindEachOther) {
  ProgramRun run({HOCCL_LAUNCH_PROBE, "4", "gather"});
  const std::string output = run.await_end();
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_THAT(output, HasSubstr("rank " + std::to_string(rank) + ": 0 1 2 3\n"));
  }
  EXPECT_EQ(run.exit_code(), 0);
}

TEST(Launcher, StartsASingleRank) {
  ProgramRun run({HOCCL_LAUNCH_PROBE, "1", "gather"});
  EXPECT_EQ(run.await_end(), "rank 0: 0\n");
  EXPECT_EQ(run.exit_code(), 0);
}

TEST(Launcher, ReturnsTheExitCodeOfTheRankThatFailed) {
  ProgramRun run({HOCCL_LAUNCH_PROBE, "4", "exit-with-7"});
  EXPECT_EQ(run.await_end(), "");
  EXPECT_EQ(run.exit_code(), 7);
}

TEST(Launcher, SaysWhichRankWasKilledAndSoDoTheOthers) {
  ProgramRun run({HOCCL_LAUNCH_PROBE, "4", "die-before-a-barrier"});
  const std::string output = run.await_end();
  EXPECT_THAT(output, AllOf(HasSubstr("hoccl: rank 2 was killed by signal 9\n"),
                            HasSubstr("error: rank 2 was lost\n")));
  // Of the killed one or of one that heard of it, whichever ended first.
  EXPECT_THAT(run.exit_code(), testing::AnyOf(1, 4));
}

TEST(Launcher, KillsRanksThatDoNotEndAfterAnotherFailed) {
  ProgramRun run({HOCCL_LAUNCH_PROBE, "4", "fail-while-others-wait"});
  EXPECT_THAT(run.await_end(), AllOf(HasSubstr("hoccl: ranks 0, 1, 3 did not end within 1 s"),
                                     Not(HasSubstr("signal"))));
  EXPECT_EQ(run.exit_code(), 3);
}

TEST(Launcher, PassesSignalsOn) {
  for (const int signal : {SIGTERM, SIGINT}) {
    ProgramRun run({HOCCL_LAUNCH_PROBE, "3", "wait-for-a-signal"});
    run.await_lines(3);
    ::kill(run.process(), signal);
    EXPECT_THAT(run.await_end(), Not(HasSubstr("hoccl:")));
    EXPECT_EQ(run.exit_code(), 128 + signal);
  }
}

TEST(Launcher, RanksDieWithIt) {
  ProgramRun run({HOCCL_LAUNCH_PROBE, "3", "wait-for-a-signal"});
  run.await_lines(3);
  ::kill(run.process(), SIGKILL);
  run.await_end();
  EXPECT_EQ(run.exit_code(), 128 + SIGKILL);
}

TEST(Launcher, RanksOfAKilledOneHearOverTheMeshThatItDied) {
  ProgramRun run({HOCCL_LAUNCH_PROBE, "4", "die-in-a-mesh"});
  const std::string output = run.await_end();
  for (const int rank : {0, 1, 3}) {
    EXPECT_THAT(output, HasSubstr("rank " + std::to_string(rank) + ": rank 2 died\n"));
  }
  EXPECT_EQ(run.exit_code(), 1);
}

TEST(Launcher, RanksOfAKilledOneHearThatItDiedThoughAChildOfItLivesOn) {
  ProgramRun run({HOCCL_LAUNCH_PROBE, "4", "die-and-leave-a-child"});
  const std::string output = run.await_lines(5);  // the launcher's too
  EXPECT_THAT(output, AllOf(HasSubstr("rank 0: rank 2 died, 1 packets\n"),
                            HasSubstr("rank 1: rank 2 died, 0 packets\n"),
                            HasSubstr("rank 3: rank 2 died, 0 packets\n")));
  const std::string announcement = "rank 2: child ";
  const std::size_t found = output.find(announcement);
  ASSERT_NE(found, std::string::npos);
  EXPECT_EQ(::kill(std::stoi(output.substr(found + announcement.size())), SIGKILL), 0);
  run.await_end();
  EXPECT_EQ(run.exit_code(), 1);
}

TEST(Launcher, ARankCanKillAnotherAndAllHearOfIt) {
  ProgramRun run({HOCCL_LAUNCH_PROBE, "4", "kill-a-peer"});
  const std::string output = run.await_end();
  for (const int rank : {0, 1, 3}) {
    EXPECT_THAT(output, HasSubstr("rank " + std::to_string(rank) + ": rank 2 died\n"));
  }
  EXPECT_THAT(output, HasSubstr("hoccl: rank 2 was killed by signal 9\n"));
  EXPECT_EQ(run.exit_code(), 1);
}

TEST(Launcher, ARankThatBreaksTheRulesOfTheMeshIsKilled) {
  ProgramRun run({HOCCL_LAUNCH_PROBE, "4", "send-too-long-a-packet"});
  const std::string output = run.await_end();
  EXPECT_THAT(output, HasSubstr("hoccl: rank 0: has killed rank 2: receive a packet from a local "
                                "rank: Message too long\n"));
  for (const int rank : {0, 1, 3}) {
    EXPECT_THAT(output, HasSubstr("rank " + std::to_string(rank) + ": rank 2 died\n"));
  }
  EXPECT_THAT(output, HasSubstr("hoccl: rank 2 was killed by signal 9\n"));
  EXPECT_EQ(run.exit_code(), 1);
}

TEST(Launcher, StartsRanksOfAProgramWhoseFileIsGone) {
  const std::string name = HOCCL_LAUNCH_PROBE ".gone." + std::to_string(::getpid());
  std::filesystem::create_hard_link(HOCCL_LAUNCH_PROBE, name);
  const FileDescriptor file(::open(name.c_str(), O_RDONLY));  // the child inherits it
  std::filesystem::remove(name);
  ProgramRun run({"/proc/self/fd/" + std::to_string(file.get()), "2", "gather"});
  EXPECT_THAT(run.await_end(), AllOf(HasSubstr("rank 0: 0 1\n"), HasSubstr("rank 1: 0 1\n")));
  EXPECT_EQ(run.exit_code(), 0);
}

TEST(Launcher, SaysWhyARankCannotBeStarted) {
  const std::string longer_than_any_argument(1 << 20, 'x');
  testing::internal::CaptureStderr();
  EXPECT_EQ(launch_local_ranks(2, {longer_than_any_argument}), 127);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr("hoccl: rank 0 cannot be started: Argument list too long\n"),
                    HasSubstr("hoccl: rank 1 cannot be started: Argument list too long\n")));
}

}  // namespace
}  // namespace hoccl::hw::test
