#include "engine/base/ids.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <concepts>
#include <cstddef>
#include <limits>
#include <unordered_set>

namespace hoccl::engine {
namespace {

static_assert(!std::convertible_to<int, Rank>);
static_assert(!std::convertible_to<Rank, int>);
static_assert(!std::convertible_to<GpuId, PlaceId>);
static_assert(!std::equality_comparable_with<Rank, NodeId>);

TEST(StrongId, IsNoneUntilGivenAValue) {
  EXPECT_TRUE(Rank().is_none());
  EXPECT_EQ(Rank(), Rank::none());
  EXPECT_FALSE(Rank(0).is_none());
}

TEST(StrongId, KeepsItsValueWhateverIntegerItCameFrom) {
  EXPECT_EQ(GpuId(std::size_t{7}), GpuId(7));
  EXPECT_EQ(GpuId(7).value(), 7);
  EXPECT_EQ(GpuId(7).index(), std::size_t{7});
  const std::int64_t beyond_32_bits = std::int64_t{std::numeric_limits<std::int32_t>::max()} + 1;
  EXPECT_EQ(Ticket(beyond_32_bits).value(), beyond_32_bits);
}

TEST(StrongId, OrdersByValue) {
  EXPECT_LT(Rank(1), Rank(2));
  EXPECT_LT(Rank::none(), Rank(0));
}

TEST(StrongId, HashesAndPrintsAsItsValue) {
  const std::unordered_set<NicId> nics{NicId(1), NicId(2), NicId(1)};
  EXPECT_EQ(nics.size(), 2U);
  EXPECT_EQ(fmt::format("rank {:>3}", Rank(12)), "rank  12");
}

}  // namespace
}  // namespace hoccl::engine
