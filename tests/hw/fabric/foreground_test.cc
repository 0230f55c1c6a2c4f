// The priority switch between processes that share one GPU.

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "tests/hw/job/hw_ranks.h"

namespace hoccl::hw {
namespace {

using engine::Bytes;
using engine::Completion;
using engine::ForegroundChanged;
using engine::PeerLost;
using engine::Rank;
using engine::Region;
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

/// Pulses of foreground work, 8 ms of every 10, until it is ended.
class Pulses {
 public:
  explicit Pulses(RankUnderTest& rank) : rank_(rank) { pulse(); }
  void end() {
    ended_ = true;
    rank_.fabric().synchronize(kStream);
  }

 private:
  void pulse() {
    rank_.port().enqueue_foreground(kStream, true);
    sleep(std::chrono::milliseconds(8));
    rank_.port().enqueue_foreground(kStream, false);
    sleep(std::chrono::milliseconds(2));
    rank_.fabric().enqueue_callback(kStream, [this] {
      if (!ended_) pulse();
    });
  }
  void sleep(std::chrono::milliseconds time) {
    rank_.fabric().enqueue_callback(kStream, [time] { std::this_thread::sleep_for(time); });
  }

  static constexpr StreamId kStream{7};
  RankUnderTest& rank_;
  std::atomic<bool> ended_ = false;
};

TEST(PrioritySwitch, BackgroundGetsOnBesideForegroundOfEightyPercent) {
  JobSettings settings{
      engine::preset_topology("h800-2x2").with_ranks(2), {}, {}, {}, /*proxies=*/true, {}};
  settings.compile.chunk_size = Bytes(64 << 10);
  settings.options.slot_size = settings.compile.chunk_size;
  HwRanks ranks(settings, Living::kProcess);
  const Bytes size(4 << 20);
  const Region source{ranks.allocate(Rank(0), size), Bytes(0), size};
  const Region target{ranks.allocate(Rank(1), size), Bytes(0), size};
  ranks.fill(source, 1);
  const auto run = [size](RankUnderTest& rank, const Region& send, const Region& receive) {
    engine::Plan plan =
        engine::compile(engine::make_pattern({"sendrecv", Rank(0), Rank(1), size}, 2),
                        rank.fabric().topology(), rank.settings().compile);
    for (engine::Transfer& transfer : plan.transfers) {
      transfer.flow_class = engine::FlowClass::kBackground;
    }
    const int work = rank.remember(rank.communicator(0).run(
        std::make_shared<const engine::Plan>(std::move(plan)), send, receive, StreamId(0)));
    return rank.await_works(Seconds(20.0)) && rank.status(work)->ok();
  };
  ranks.call(Rank(1), [run, target](RankUnderTest& rank) {
    rank.fabric().enqueue_callback(StreamId(3), [&rank, run, target] { run(rank, {}, target); });
  });
  const bool ended = ranks.call(Rank(0), [run, source](RankUnderTest& rank) {
    Pulses pulses(rank);
    const bool through = run(rank, source, {});
    pulses.end();
    return through;
  });
  EXPECT_TRUE(ended);
  ranks.call(Rank(1), [](RankUnderTest& rank) { rank.fabric().synchronize(StreamId(3)); });
  EXPECT_TRUE(ranks.holds(target, 1));
}

}  // namespace
}  // namespace hoccl::hw
