// Random jobs of two to eight ranks with random deaths: right bytes or a clear error on every
// survivor, none hangs, nothing is left over.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "tests/fuzz/seeds.h"
#include "tests/hw/job/hw_ranks.h"
#include "tests/hw/scenarios/random_rank.h"

namespace hoccl::hw {
namespace {

using engine::Rank;
using engine::Seconds;

constexpr std::uint64_t kSeeds = 60;
constexpr std::uint64_t kThreadSeeds = 6;
constexpr std::uint64_t kShards = 2;
/// Far more than any of these jobs needs, sanitizers and a crowded machine included.
constexpr Seconds kPatience(40.0);

/// What is wrong; empty when all is well.
std::string run(const RandomJob& job, Living living) {
  HwRanks ranks(job.settings, living);
  std::vector<Rank> waited = ranks.ask_all(
      [plan = &job](RankUnderTest& rank) { return RandomRank::play(*plan, rank, kPatience); });
  if (job.death) std::erase(waited, job.death->victim);
  if (job.death && job.death->after) {
    std::this_thread::sleep_for(*job.death->after);
    ranks.kill(job.death->victim);
  }
  const std::vector<std::string> found = ranks.collect<std::string>(waited);
  // Its trap may not have sprung: then it dies now, when nobody needs it any more.
  if (job.death && !job.death->after) ranks.kill(job.death->victim);
  for (const std::string& wrong : found) {
    if (!wrong.empty()) return wrong;
  }
  const auto all_quiescent = [&] {
    const auto quiescent = ranks.call_all([](RankUnderTest& rank) { return rank.quiescent(); });
    return std::ranges::all_of(quiescent, [](bool value) { return value; });
  };
  return HwRanks::settle(all_quiescent, kPatience) ? "" : "a proxy is not quiescent";
}

std::string check(std::uint64_t seed, Living living) {
  const RandomJob job = draw_job(seed, living == Living::kProcess);
  const std::string description = describe(job);
  SCOPED_TRACE(fmt::format("seed {}: {}", seed, description));
  try {
    const std::string wrong = run(job, living);
    return wrong.empty() ? wrong : wrong + "; " + description;
  } catch (const RankFailed& failure) {
    return std::string(failure.what()) + "; " + description;
  }
}

class RandomJobs : public testing::TestWithParam<std::uint64_t> {};

TEST_P(RandomJobs, EndRightOrWithAClearErrorInProcesses) {
  engine::for_each_seed(kSeeds, GetParam(), kShards,
                        [](std::uint64_t seed) { return check(seed, Living::kProcess); });
}

TEST_P(RandomJobs, EndRightOnThreads) {
  engine::for_each_seed(kThreadSeeds, GetParam(), kShards,
                        [](std::uint64_t seed) { return check(seed, Living::kThread); });
}

INSTANTIATE_TEST_SUITE_P(Shards, RandomJobs, testing::Range(std::uint64_t{0}, kShards));

}  // namespace
}  // namespace hoccl::hw
