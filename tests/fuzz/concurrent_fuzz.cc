// Two or three communicators over the same GPUs at once, with one to three slots.

#include <gtest/gtest.h>

#include "tests/fuzz/schedule_concurrent.h"
#include "tests/fuzz/seeds.h"

namespace hoccl::engine {
namespace {

constexpr std::uint64_t kSeeds = 500;
constexpr std::uint64_t kShards = 2;

class ConcurrentFuzz : public testing::TestWithParam<std::uint64_t> {};

TEST_P(ConcurrentFuzz, EndsEveryOperationWithTheRightBytes) {
  for_each_seed(kSeeds, GetParam(), kShards, [](std::uint64_t seed) {
    const ConcurrentCase concurrent_case = draw_concurrent_case(seed);
    const std::string wrong = check_run(concurrent_case);
    return wrong.empty() ? wrong : wrong + "; " + describe(concurrent_case);
  });
}

INSTANTIATE_TEST_SUITE_P(Shards, ConcurrentFuzz, testing::Range(std::uint64_t{0}, kShards));

}  // namespace
}  // namespace hoccl::engine
