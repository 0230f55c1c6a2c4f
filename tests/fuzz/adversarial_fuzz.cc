// Random jobs on a fabric that decides everything the seam leaves open against us.

#include <gtest/gtest.h>

#include "tests/fuzz/fuzz_run.h"
#include "tests/fuzz/seeds.h"

namespace hoccl::engine {
namespace {

constexpr std::uint64_t kSeeds = 500;
constexpr std::uint64_t kShards = 4;

class AdversarialFuzz : public testing::TestWithParam<std::uint64_t> {};

TEST_P(AdversarialFuzz, DeliversEveryByteOnceAndInOrderAndEnds) {
  for_each_seed(kSeeds, GetParam(), kShards, [](std::uint64_t seed) {
    const FuzzCase fuzz_case = draw_case(seed);
    FuzzRun run(fuzz_case);
    const std::string wrong = run.check_all_ok(run.run());
    return wrong.empty() ? wrong : wrong + "; " + describe(fuzz_case);
  });
}

INSTANTIATE_TEST_SUITE_P(Shards, AdversarialFuzz, testing::Range(std::uint64_t{0}, kShards));

}  // namespace
}  // namespace hoccl::engine
