#include "engine/base/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace hoccl::engine {
namespace {

// The first outputs of SplitMix64 from seed 1234567, as published with its reference
// implementation (rosettacode.org/wiki/Pseudo-random_numbers/Splitmix64).
TEST(Random, StartsWithThePublishedNumbersOfSplitMix64) {
  Random random(1234567);
  EXPECT_EQ(random.next(), 6457827717110365317ULL);
  EXPECT_EQ(random.next(), 3203168211198807973ULL);
  EXPECT_EQ(random.next(), 9817491932198370423ULL);
  EXPECT_EQ(random.next(), 4593380528125082431ULL);
  EXPECT_EQ(random.next(), 16408922859458223821ULL);
}

TEST(Random, RepeatsFromTheSameSeedAndDiffersFromAnother) {
  Random first(42);
  Random second(42);
  Random other(43);
  bool differs = false;
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t value = first.next();
    EXPECT_EQ(value, second.next());
    differs = differs || value != other.next();
  }
  EXPECT_TRUE(differs);
}

TEST(Random, UniformStaysInItsRangeAndHasTheRightMean) {
  Random random(7);
  constexpr int kDraws = 100'000;
  double sum = 0.0;
  for (int i = 0; i < kDraws; ++i) {
    const double value = random.uniform();
    ASSERT_GE(value, 0.0);
    ASSERT_LT(value, 1.0);
    sum += value;
  }
  // The mean of n uniform numbers has the standard deviation sqrt(1/12n); 5 of them is generous.
  EXPECT_NEAR(sum / kDraws, 0.5, 5.0 * std::sqrt(1.0 / 12.0 / kDraws));
}

TEST(Random, BetweenReachesBothEndsAndNothingElse) {
  Random random(7);
  std::set<std::int64_t> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(random.between(-2, 3));
  EXPECT_EQ(seen, (std::set<std::int64_t>{-2, -1, 0, 1, 2, 3}));
  EXPECT_EQ(random.between(5, 5), 5);
}

TEST(Random, ChanceOfZeroNeverAndOfOneAlwaysHappens) {
  Random random(7);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_FALSE(random.chance(0.0));
    EXPECT_TRUE(random.chance(1.0));
  }
}

}  // namespace
}  // namespace hoccl::engine
