// The loopback link's rate and delay: a lower bound that holds on any machine, however slow.

#include <gtest/gtest.h>

#include "hw/system/monotonic_clock.h"
#include "tests/hw/job/hw_ranks.h"

namespace hoccl::hw {
namespace {

using engine::Bytes;
using engine::Rank;
using engine::Region;
using engine::Seconds;
using engine::StreamId;

constexpr Bytes kSize(1 << 20);

/// Time of one message between two nodes.
Seconds time_of_message(std::optional<engine::BytesPerSecond> rate, Seconds delay) {
  JobSettings settings{
      engine::preset_topology("h800-2x2").with_ranks(2), {}, {}, {}, /*proxies=*/true, {}};
  settings.options.link_rate = rate;
  settings.options.link_delay = delay;
  settings.compile.chunk_size = Bytes(64 << 10);
  settings.options.slot_size = settings.compile.chunk_size;
  HwRanks ranks(settings, Living::kThread);
  const Region source{ranks.allocate(Rank(0), kSize), Bytes(0), kSize};
  const Region target{ranks.allocate(Rank(1), kSize), Bytes(0), kSize};
  ranks.fill(source, 1);
  const Seconds begin = monotonic_now();
  ranks.call(Rank(0), [source](RankUnderTest& rank) {
    rank.communicator(0).send(source, Rank(1), StreamId(0));
  });
  ranks.call(Rank(1), [target](RankUnderTest& rank) {
    rank.communicator(0).receive(target, Rank(0), StreamId(0));
    rank.fabric().synchronize(StreamId(0));
  });
  const Seconds time = monotonic_now() - begin;
  EXPECT_TRUE(ranks.holds(target, 1));
  ranks.call(Rank(0), [](RankUnderTest& rank) { rank.fabric().synchronize(StreamId(0)); });
  return time;
}

TEST(LoopbackLink, SendsNoFasterThanItsRate) {
  const engine::BytesPerSecond rate(20e6);
  EXPECT_GE(time_of_message(rate, Seconds(0.0)), kSize / rate);
}

TEST(LoopbackLink, DeliversNoSoonerThanItsDelay) {
  const Seconds delay(0.02);
  EXPECT_GE(time_of_message(std::nullopt, delay), delay);
}

}  // namespace
}  // namespace hoccl::hw
