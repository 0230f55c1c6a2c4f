// That the tests of real ranks can fail: a rank that dies, hangs or complains, and what is left
// over, are seen.

#include "tests/hw/job/rank_host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <memory>

#include "tests/hw/job/leftovers.h"

namespace hoccl::hw {
namespace {

using engine::Seconds;
using testing::HasSubstr;

constexpr Seconds kPatience(20.0);

/// Does what the request says.
RankHost::Answer obedient() {
  return [](std::string_view request) -> std::string {
    if (request == "die") std::abort();
    if (request == "hang") ::pause();
    if (request == "complain") throw std::runtime_error("no such thing");
    return std::string(request) + std::to_string(::getpid());
  };
}

std::string failure_of(RankHost& host, std::string_view request, Seconds patience = kPatience) {
  host.ask(request);
  try {
    return "answered " + host.answer(patience);
  } catch (const RankFailed& failure) {
    return failure.what();
  }
}

TEST(RankHost, AnswersFromWhereItLives) {
  const std::string here = std::to_string(::getpid());
  RankHost process(engine::Rank(1), Living::kProcess, obedient, {});
  RankHost thread(engine::Rank(0), Living::kThread, obedient, {});
  process.ask("a");
  thread.ask("b");
  EXPECT_NE(process.answer(kPatience), "a" + here);
  EXPECT_EQ(thread.answer(kPatience), "b" + here);
  process.end(kPatience);
  thread.end(kPatience);
  EXPECT_FALSE(process.alive());
}

TEST(RankHost, NamesTheRankThatDied) {
  RankHost host(engine::Rank(3), Living::kProcess, obedient, {});
  EXPECT_EQ(failure_of(host, "die"), "rank 3 died: killed by signal 6");
  EXPECT_THROW(host.ask("again"), RankFailed);
}

TEST(RankHost, NamesTheRankThatHangs) {
  RankHost host(engine::Rank(3), Living::kProcess, obedient, {});
  EXPECT_THAT(failure_of(host, "hang", Seconds(0.05)), HasSubstr("rank 3 does not answer"));
}

TEST(RankHost, PassesErrorsOn) {
  for (const Living living : {Living::kProcess, Living::kThread}) {
    RankHost host(engine::Rank(2), living, obedient, {});
    EXPECT_EQ(failure_of(host, "complain"), "rank 2: no such thing");
    EXPECT_THAT(failure_of(host, "x"), HasSubstr("answered x"));
  }
}

TEST(RankHost, AwaitsADeathThatWasExpected) {
  RankHost host(engine::Rank(2), Living::kProcess, obedient, {});
  EXPECT_THROW(host.await_death(Seconds(0.05)), RankFailed);
  host.ask("die");
  host.await_death(kPatience);
  EXPECT_FALSE(host.alive());
}

TEST(Leftovers, FindsAProcessADescriptorAndAMapping) {
  const Leftovers leftovers;
  EXPECT_EQ(leftovers.find(), "");
  {
    const RankHost host(engine::Rank(0), Living::kProcess, obedient, {});
    EXPECT_THAT(leftovers.find(), HasSubstr("a child process"));
  }
  EXPECT_EQ(leftovers.find(), "");
  {
    const FileDescriptor forgotten(::dup(STDERR_FILENO));
    EXPECT_THAT(leftovers.find(), HasSubstr("an open descriptor"));
  }
  EXPECT_EQ(leftovers.find(), "");
  constexpr std::size_t kSize = 4096;
  FileDescriptor file(::memfd_create("hoccl-forgotten", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(file.get(), kSize), 0);
  void* memory = ::mmap(nullptr, kSize, PROT_READ, MAP_SHARED, file.get(), 0);
  file.reset();
  EXPECT_THAT(leftovers.find(), HasSubstr("mapped memory"));
  ::munmap(memory, kSize);
  EXPECT_EQ(leftovers.find(), "");
}

}  // namespace
}  // namespace hoccl::hw
