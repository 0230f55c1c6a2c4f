#include "engine/pattern/sendrecv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/pattern/metrics.h"
#include "engine/pattern/pattern.h"
#include "tests/engine/pattern/delivery.h"

namespace hoccl::engine {
namespace {

using namespace literals;

TEST(SendRecv, IsOneFlowOfTheWholeMessage) {
  const Pattern pattern = send_recv(16, Rank(3), Rank(11), 5_MiB);
  EXPECT_EQ(pattern.name, "sendrecv");
  EXPECT_EQ(pattern.message_size, 5_MiB);
  ASSERT_EQ(pattern.flows.size(), 1U);
  const Flow expected{Rank(3), Rank(11), 0_B, 0_B, 5_MiB, FlowClass::kForeground};
  EXPECT_EQ(pattern.flows[0], expected);
}

TEST(SendRecv, RefusesRanksThatDoNotExistOrAreTheSame) {
  EXPECT_EQ(refusal([] { send_recv(16, Rank(16), Rank(0), 1_B); }),
            "pattern sendrecv: source = 16: expected a rank from 0 to 15");
  EXPECT_EQ(refusal([] { send_recv(16, Rank(0), Rank(-1), 1_B); }),
            "pattern sendrecv: target = -1: expected a rank from 0 to 15");
  EXPECT_EQ(refusal([] { send_recv(16, Rank(4), Rank(4), 1_B); }),
            "pattern sendrecv: target = 4: expected another rank than the source");
  EXPECT_EQ(refusal([] { send_recv(1, Rank(0), Rank(0), 1_B); }),
            "pattern sendrecv: ranks = 1: expected 2 to 65535");
}

TEST(SendRecv, RefusesSizesOutsideTheRange) {
  EXPECT_THAT(refusal([] { send_recv(2, Rank(0), Rank(1), Bytes(-1)); }),
              testing::HasSubstr("size = -1: expected 0 to"));
  EXPECT_THAT(refusal([] { send_recv_ring(2, kMaxMessageSize + 1_B); }),
              testing::HasSubstr("pattern sendrecv-ring: size = "));
  EXPECT_EQ(send_recv(2, Rank(0), Rank(1), 0_B).message_size, 0_B);
}

TEST(SendRecvRing, EveryRankSendsToTheNextAndReceivesFromThePrevious) {
  constexpr int kRanks = 6;
  const Pattern pattern = send_recv_ring(kRanks, 1_KiB);
  ASSERT_EQ(pattern.flows.size(), std::size_t{kRanks});
  for (int rank = 0; rank < kRanks; ++rank) {
    const Flow& flow = pattern.flows[static_cast<std::size_t>(rank)];
    EXPECT_EQ(flow.source, Rank(rank));
    EXPECT_EQ(flow.target, Rank(rank + 1 == kRanks ? 0 : rank + 1));
    EXPECT_EQ(flow.size, 1_KiB);
  }
}

TEST(PpChain, EveryRankButTheLastSendsToTheNext) {
  constexpr int kRanks = 5;
  const Pattern pattern = pp_chain(kRanks, 1_KiB);
  EXPECT_EQ(pattern.name, "ppchain");
  EXPECT_EQ(pattern.rank_count, kRanks);
  EXPECT_EQ(pattern.message_size, 1_KiB);
  EXPECT_EQ(pattern.busbw_factor, 1.0);
  ASSERT_EQ(std::ssize(pattern.flows), kRanks - 1);
  for (int rank = 0; rank < kRanks - 1; ++rank) {
    const Flow& flow = pattern.flows[static_cast<std::size_t>(rank)];
    EXPECT_EQ(flow.source, Rank(rank));
    EXPECT_EQ(flow.target, Rank(rank + 1));
    EXPECT_EQ(flow.size, 1_KiB);
  }
}

TEST(PpChain, RefusesOneRankAndSizesOutOfRange) {
  EXPECT_THAT(refusal([] { pp_chain(1, 1_KiB); }),
              testing::HasSubstr("pattern ppchain: ranks = 1: expected 2"));
  EXPECT_THAT(refusal([] { pp_chain(4, Bytes(-1)); }),
              testing::HasSubstr("pattern ppchain: size = -1"));
}

TEST(Metrics, SendRecvCountsTheMessageOnceInBothBandwidths) {
  const Pattern pattern = send_recv_ring(8, 1_GiB);
  const Seconds time = 1_GiB / 50_GBps;
  EXPECT_DOUBLE_EQ(algbw(pattern, time).value(), (50_GBps).value());
  // nccl-tests' factor of sendrecv is 1: every byte crosses one link.
  EXPECT_DOUBLE_EQ(busbw(pattern, time).value(), (50_GBps).value());
}

}  // namespace
}  // namespace hoccl::engine
