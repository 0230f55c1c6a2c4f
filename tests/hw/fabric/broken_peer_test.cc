// A process that says what no proxy would say: it is ended, nobody else is harmed.

#include <gtest/gtest.h>

#include "tests/hw/job/hw_ranks.h"

namespace hoccl::hw {
namespace {

using engine::Bytes;
using engine::Cause;
using engine::Message;
using engine::Rank;
using engine::Region;
using engine::Seconds;
using engine::StreamId;

constexpr Bytes kSize(100000);

TEST(BrokenPeer, IsKilledAndItsOperationsFail) {
  JobSettings settings{
      engine::preset_topology("h800-1x4").with_ranks(3), {}, {}, {}, /*proxies=*/true, {}};
  settings.options.slot_size = settings.compile.chunk_size;
  HwRanks ranks(settings, Living::kProcess);
  ranks.call_until_killed(
      Rank(1),
      [](RankUnderTest& rank) {
        Message garbage;
        garbage.bytes.fill(std::byte{0xff});
        rank.port().post_message(Rank(0), garbage);
      },
      Seconds(10.0));

  const Region source{ranks.allocate(Rank(0), kSize), Bytes(0), kSize};
  const Region target{ranks.allocate(Rank(2), kSize), Bytes(0), kSize};
  ranks.fill(source, 4);
  const auto cause = ranks.call(Rank(0), [source](RankUnderTest& rank) {
    const int lost = rank.remember(rank.communicator(0).send(source, Rank(1), StreamId(0)));
    rank.fabric().synchronize(StreamId(0));
    rank.communicator(0).send(source, Rank(2), StreamId(1));
    return rank.status(lost)->cause;
  });
  EXPECT_EQ(cause, Cause::kPeerLost);
  ranks.call(Rank(2), [target](RankUnderTest& rank) {
    rank.communicator(0).receive(target, Rank(0), StreamId(0));
    rank.fabric().synchronize(StreamId(0));
  });
  EXPECT_TRUE(ranks.holds(target, 4)) << "the others go on";
}

}  // namespace
}  // namespace hoccl::hw
