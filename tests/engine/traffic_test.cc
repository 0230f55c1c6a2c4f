#include "engine/traffic.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "engine/base/config_error.h"

namespace hoccl::engine {
namespace {

using namespace literals;

Traffic counted(const TrafficMatrix& matrix, std::vector<Rank> group) {
  Traffic traffic;
  traffic.request.name = "alltoallv";
  traffic.request.in_place = true;
  traffic.request.group = std::move(group);
  traffic.matrix = std::make_shared<const TrafficMatrix>(matrix);
  return traffic;
}

TrafficMatrix two_by_two() {
  TrafficMatrix matrix(2, 2);
  matrix << 1, 20, 300, 4000;
  return matrix;
}

TEST(Traffic, GivesAKnownPatternItsSize) {
  Traffic traffic;
  traffic.request.name = "broadcast";
  EXPECT_FALSE(traffic.has_own_size());
  const Pattern pattern = pattern_of(traffic, 12_KiB, 4);
  EXPECT_EQ(pattern.message_size, 12_KiB);
  EXPECT_EQ(pattern.name, "broadcast");
  EXPECT_EQ(matrix_of(traffic, 12_KiB, 4), nullptr);
}

TEST(Traffic, AMatrixOfTheUsersIsOverTheRanksOfItsGroup) {
  const Traffic traffic = counted(two_by_two(), {Rank(1), Rank(5)});
  EXPECT_TRUE(traffic.has_own_size());
  const Pattern pattern = pattern_of(traffic, 1_B, 8);
  ASSERT_EQ(pattern.flows.size(), 2U);
  EXPECT_EQ(pattern.rank_count, 8);
  EXPECT_EQ(pattern.flows[0].source, Rank(1));
  EXPECT_EQ(pattern.flows[0].target, Rank(5));
  EXPECT_EQ(pattern.flows[0].size, 20_B);
  EXPECT_EQ(pattern.flows[1].size, 300_B);
  // Of the two that take part, as nccl-tests counts ranks.
  EXPECT_DOUBLE_EQ(pattern.busbw_factor, 0.5);
}

TEST(Traffic, AMatrixHasARowPerMember) {
  EXPECT_THROW(pattern_of(counted(two_by_two(), {}), 1_B, 8), ConfigError);
  EXPECT_THROW(pattern_of(counted(two_by_two(), {Rank(0), Rank(1), Rank(2)}), 1_B, 8), ConfigError);
  EXPECT_NO_THROW(pattern_of(counted(two_by_two(), {}), 1_B, 2));
}

TEST(Traffic, DrawsTheMatrixThatThePatternHas) {
  Traffic traffic;
  traffic.request.name = "alltoallv";
  traffic.request.matrix = MatrixKind::kZipf;
  traffic.request.seed = 7;
  const auto matrix = matrix_of(traffic, 1_MiB, 6);
  ASSERT_NE(matrix, nullptr);
  EXPECT_EQ(pattern_of(traffic, 1_MiB, 6).flows, all_to_all_v(*matrix, false).flows);
}

TEST(Traffic, FlowsOfTheUsersAreWhatTheyAre) {
  Traffic traffic;
  auto flows = std::make_shared<Pattern>();
  flows->name = "mine";
  flows->message_size = 5_B;
  traffic.flows = flows;
  EXPECT_TRUE(traffic.has_own_size());
  EXPECT_EQ(pattern_of(traffic, 1_GiB, 3), *flows);
}

TEST(Traffic, EverybodyIsAMemberUnlessAGroupSaysWho) {
  Traffic traffic;
  EXPECT_EQ(members_of(traffic, 3), (std::vector{Rank(0), Rank(1), Rank(2)}));
  traffic.request.group = {Rank(1), Rank(2)};
  EXPECT_EQ(members_of(traffic, 3), (std::vector{Rank(1), Rank(2)}));
}

}  // namespace
}  // namespace hoccl::engine
