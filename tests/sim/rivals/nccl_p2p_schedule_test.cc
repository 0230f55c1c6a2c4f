#include "sim/rivals/nccl_p2p_schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace hoccl::sim {
namespace {

using engine::Rank;
using testing::ElementsAre;

std::vector<int> rounds_of(const std::string& topology, const std::vector<int>& targets) {
  const engine::Topology machine = engine::preset_topology(topology);
  const NcclP2pSchedule schedule(machine);
  std::vector<int> rounds;
  for (const int target : targets) rounds.push_back(schedule.round_of(Rank(0), Rank(target)));
  return rounds;
}

TEST(NcclP2pSchedule, EveryRoundHasOneTargetAndOneSource) {
  for (const char* name : {"h800-1x8", "h800-2x8", "h800-3x4", "h800-8x8", "h800-5x6"}) {
    const engine::Topology topology = engine::preset_topology(name);
    const NcclP2pSchedule schedule(topology);
    const int count = topology.rank_count();
    for (int rank = 0; rank < count; ++rank) {
      std::set<int> sends;
      std::set<int> receives;
      for (int peer = 0; peer < count; ++peer) {
        sends.insert(schedule.round_of(Rank(rank), Rank(peer)));
        receives.insert(schedule.round_of(Rank(peer), Rank(rank)));
      }
      EXPECT_EQ(sends.size(), static_cast<std::size_t>(count)) << name;
      EXPECT_EQ(receives, sends) << name;
      EXPECT_EQ(*sends.begin(), 0);
      EXPECT_EQ(*sends.rbegin(), count - 1);
    }
  }
}

TEST(NcclP2pSchedule, TheOwnNodeComesFirstThenTheOthersAtDistances013) {
  EXPECT_THAT(rounds_of("h800-4x8", {0, 1, 7}), ElementsAre(0, 1, 7));
  EXPECT_THAT(rounds_of("h800-4x8", {8, 15, 24, 31, 16, 17}), ElementsAre(8, 15, 16, 23, 24, 25));
}

TEST(NcclP2pSchedule, RoundsToOneNodeShareTheirChannels) {
  const engine::Topology topology = engine::preset_topology("h800-2x8");
  const NcclP2pSchedule schedule(topology);
  const auto channels = [&](int round, int parts) {
    std::vector<int> result;
    for (int part = 0; part < parts; ++part) result.push_back(schedule.channel_of(round, part, 8));
    return result;
  };
  EXPECT_THAT(channels(0, 8), ElementsAre(0, 4, 2, 6, 1, 5, 3, 7));
  EXPECT_EQ(channels(0, 8), channels(7, 8));
  EXPECT_THAT(channels(8, 4), ElementsAre(4, 0, 6, 2));
  EXPECT_EQ(channels(8, 4), channels(15, 4));
}

TEST(NcclP2pSchedule, RoundsWithinOneNodeBeginOnDifferentChannels) {
  const NcclP2pSchedule schedule(engine::preset_topology("h800-1x8"));
  std::set<int> first;
  for (int round = 0; round < 8; ++round) first.insert(schedule.channel_of(round, 0, 8));
  EXPECT_EQ(first.size(), 8U);
}

TEST(NcclP2pSchedule, PartsOfAMessageHaveChannelsOfTheirOwn) {
  const NcclP2pSchedule schedule(engine::preset_topology("h800-4x8"));
  for (int count = 1; count <= 64; ++count) {
    for (int round = 0; round < 32; ++round) {
      std::set<int> channels;
      for (int part = 0; part < count; ++part) {
        channels.insert(schedule.channel_of(round, part, count));
      }
      ASSERT_EQ(channels.size(), static_cast<std::size_t>(count));
      ASSERT_GE(*channels.begin(), 0);
      ASSERT_LT(*channels.rbegin(), count);
    }
  }
}

}  // namespace
}  // namespace hoccl::sim
