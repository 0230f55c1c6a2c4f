#include "sim/run/fork_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <set>
#include <string>

#include "engine/base/config_error.h"

namespace hoccl::sim {
namespace {

using engine::ConfigError;
using testing::ElementsAre;
using testing::HasSubstr;

std::string label(std::size_t index) { return "task " + std::to_string(index); }

TEST(ForkPool, ReturnsResultsInOrderWhateverTheJobs) {
  const auto task = [](std::size_t i) {
    ::usleep(i == 0 ? 50000 : 0);
    return "result " + std::to_string(i);
  };
  for (const int jobs : {1, 2, 8}) {
    EXPECT_THAT(run_forked(3, jobs, task, label), ElementsAre("result 0", "result 1", "result 2"));
  }
}

TEST(ForkPool, GivesEveryTaskAProcessOfItsOwn) {
  const auto task = [](std::size_t) { return std::to_string(::getpid()); };
  const auto processes = run_forked(4, 2, task, label);
  const std::set<std::string> distinct(processes.begin(), processes.end());
  EXPECT_EQ(distinct.size(), 4U);
  EXPECT_EQ(distinct.count(std::to_string(::getpid())), 0U);
}

TEST(ForkPool, ThrowsAConfigErrorOfATaskHere) {
  const auto task = [](std::size_t i) -> std::string {
    if (i == 1) throw ConfigError("chunk = 0: expected more");
    return "fine";
  };
  try {
    run_forked(3, 2, task, label);
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(), "chunk = 0: expected more");
  }
}

TEST(ForkPool, NamesTheTaskWhoseProcessDied) {
  const auto task = [](std::size_t i) -> std::string {
    if (i == 2) std::abort();
    return "fine";
  };
  try {
    run_forked(4, 1, task, label);
    FAIL();
  } catch (const RunError& error) {
    EXPECT_THAT(error.what(), HasSubstr("task 2"));
    EXPECT_THAT(error.what(), HasSubstr("signal 6"));
  }
}

TEST(ForkPool, NamesTheTaskThatFailed) {
  const auto task = [](std::size_t) -> std::string { throw RunError("rank 3 did not end"); };
  try {
    run_forked(1, 1, task, label);
    FAIL();
  } catch (const RunError& error) {
    EXPECT_STREQ(error.what(), "task 0: the simulation failed: rank 3 did not end");
  }
}

}  // namespace
}  // namespace hoccl::sim
