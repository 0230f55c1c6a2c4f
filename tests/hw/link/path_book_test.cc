#include "hw/link/path_book.h"

#include <gtest/gtest.h>

namespace hoccl::hw {
namespace {

using engine::Rank;
using engine::Seconds;

constexpr Rank kPeer(5);
constexpr Seconds kInterval(1.0);

PathBook book(std::uint32_t own, std::uint32_t peers) {
  PathBook result(own, kInterval);
  result.add_peer(kPeer, peers);
  return result;
}

TEST(PathBook, ChoosesThePreferredPathWhileItWorks) {
  const PathBook paths = book(2, 2);
  EXPECT_EQ(paths.choose(kPeer, {1, 0}), (Path{1, 0}));
}

TEST(PathBook, ChoosesARailBeforeACrossing) {
  PathBook paths = book(2, 2);
  paths.mark_failed(kPeer, {0, 0}, Seconds(0.0));
  EXPECT_EQ(paths.choose(kPeer, {0, 0}), (Path{1, 1}));
  paths.mark_failed(kPeer, {1, 1}, Seconds(0.0));
  EXPECT_EQ(paths.choose(kPeer, {0, 0}), (Path{0, 1}));
}

TEST(PathBook, ChoosesNothingWhenNothingWorks) {
  PathBook paths = book(1, 1);
  EXPECT_FALSE(paths.has_other(kPeer, {0, 0}));
  EXPECT_TRUE(paths.mark_failed(kPeer, {0, 0}, Seconds(0.0)));
  EXPECT_FALSE(paths.mark_failed(kPeer, {0, 0}, Seconds(0.1)));  // no news
  EXPECT_FALSE(paths.choose(kPeer, {0, 0}));
}

TEST(PathBook, KnowsWhetherAnotherPathWorks) {
  PathBook paths = book(1, 2);
  EXPECT_TRUE(paths.has_other(kPeer, {0, 0}));
  paths.mark_failed(kPeer, {0, 1}, Seconds(0.0));
  EXPECT_FALSE(paths.has_other(kPeer, {0, 0}));
}

TEST(PathBook, TriesAFailedPathAgainAtGrowingIntervals) {
  PathBook paths = book(1, 1);
  EXPECT_FALSE(paths.next_due());
  paths.mark_failed(kPeer, {0, 0}, Seconds(10.0));
  EXPECT_EQ(paths.next_due(), Seconds(11.0));
  EXPECT_TRUE(paths.take_due(Seconds(10.9)).empty());
  EXPECT_EQ(paths.take_due(Seconds(11.0)).size(), 1U);
  EXPECT_EQ(paths.next_due(), Seconds(13.0));
  EXPECT_EQ(paths.take_due(Seconds(13.0)).size(), 1U);
  EXPECT_EQ(paths.next_due(), Seconds(17.0));
  for (int i = 0; i < 20; ++i) (void)paths.take_due(*paths.next_due());
  const Seconds last = *paths.next_due();
  (void)paths.take_due(last);
  EXPECT_EQ(*paths.next_due() - last, 16.0 * kInterval);
}

TEST(PathBook, ChoosesAPathAgainThatHasComeBack) {
  PathBook paths = book(2, 2);
  paths.mark_failed(kPeer, {0, 0}, Seconds(0.0));
  paths.mark_working(kPeer, {0, 0});
  EXPECT_EQ(paths.choose(kPeer, {0, 0}), (Path{0, 0}));
  EXPECT_FALSE(paths.next_due());
}

TEST(PathBook, ForgetsAPeerWithItsPaths) {
  PathBook paths = book(1, 1);
  paths.mark_failed(kPeer, {0, 0}, Seconds(0.0));
  paths.forget_peer(kPeer);
  EXPECT_FALSE(paths.next_due());
}

}  // namespace
}  // namespace hoccl::hw
