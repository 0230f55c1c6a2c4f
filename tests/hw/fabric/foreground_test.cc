// The priority switch between processes that share one GPU.

#include <gtest/gtest.h>

#include <array>
#include <optional>

#include "tests/hw/job/hw_ranks.h"

namespace hoccl::hw {
namespace {

using engine::Completion;
using engine::ForegroundChanged;
using engine::PeerLost;
using engine::Rank;
using engine::Seconds;
using engine::StreamId;

JobSettings two_ranks_of_one_gpu() {
  JobSettings settings{
      engine::preset_topology("h200-1x1").with_ranks(2), {}, {}, {}, /*proxies=*/false, {}};
  settings.options.link = LinkKind::kLoopbackMap;
  return settings;
}

struct News {
  std::optional<bool> foreground;
  bool lost = false;
};

/// The last thing `rank` was told of each, waiting until something has been.
News await_news(HwRanks& ranks, Rank rank) {
  News all;
  const auto poll = [&] {
    const News news = ranks.call(rank, [](RankUnderTest& target) {
      News result;
      std::array<Completion, 8> completions;
      const std::size_t count = target.port().poll(completions);
      for (std::size_t i = 0; i < count; ++i) {
        if (const auto* change = std::get_if<ForegroundChanged>(&completions[i])) {
          result.foreground = change->active;
        }
        result.lost |= std::holds_alternative<PeerLost>(completions[i]);
      }
      return result;
    });
    if (news.foreground) all.foreground = news.foreground;
    all.lost |= news.lost;
    return all.foreground.has_value();
  };
  HwRanks::settle(poll, Seconds(10.0));
  return all;
}

void announce(HwRanks& ranks, Rank rank, bool active) {
  ranks.call(rank, [active](RankUnderTest& target) {
    target.port().enqueue_foreground(StreamId(1), active);
    target.fabric().synchronize(StreamId(1));
  });
}

TEST(PrioritySwitch, ReachesTheOtherProcessesOfTheGpu) {
  HwRanks ranks(two_ranks_of_one_gpu(), Living::kProcess);
  announce(ranks, Rank(0), true);
  EXPECT_EQ(await_news(ranks, Rank(1)).foreground, true);
  announce(ranks, Rank(0), false);
  EXPECT_EQ(await_news(ranks, Rank(1)).foreground, false);
}

TEST(PrioritySwitch, IsOnUntilTheLastProcessIsThrough) {
  HwRanks ranks(two_ranks_of_one_gpu(), Living::kProcess);
  announce(ranks, Rank(0), true);
  announce(ranks, Rank(1), true);
  EXPECT_EQ(await_news(ranks, Rank(1)).foreground, true);
  announce(ranks, Rank(1), false);
  announce(ranks, Rank(0), false);
  EXPECT_EQ(await_news(ranks, Rank(1)).foreground, false);
}

TEST(PrioritySwitch, AWriterThatIsKilledHoldsNobodyBack) {
  HwRanks ranks(two_ranks_of_one_gpu(), Living::kProcess);
  announce(ranks, Rank(0), true);
  EXPECT_EQ(await_news(ranks, Rank(1)).foreground, true);
  ranks.kill(Rank(0));
  EXPECT_EQ(await_news(ranks, Rank(1)).foreground, false);
}

}  // namespace
}  // namespace hoccl::hw
