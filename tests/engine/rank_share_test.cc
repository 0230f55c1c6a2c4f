#include "engine/rank_share.h"

#include <gtest/gtest.h>

#include <vector>

namespace hoccl::engine {
namespace {

using namespace literals;
using Side = SendRecvRequest::Side;

const std::vector<Flow> kFlows = {
    {.source = Rank(0), .target = Rank(1), .source_offset = 8_B, .target_offset = 0_B, .size = 4_B},
    {.source = Rank(0), .target = Rank(2), .source_offset = 0_B, .target_offset = 6_B, .size = 5_B},
    {.source = Rank(1), .target = Rank(0), .source_offset = 0_B, .target_offset = 1_B, .size = 2_B},
};

TEST(RankShare, BuffersReachToTheEndOfTheLastFlow) {
  const BufferSizes zero = buffer_sizes(kFlows, Rank(0));
  EXPECT_EQ(zero.send, 12_B);
  EXPECT_EQ(zero.receive, 3_B);
  const BufferSizes two = buffer_sizes(kFlows, Rank(2));
  EXPECT_EQ(two.send, 0_B);
  EXPECT_EQ(two.receive, 11_B);
}

TEST(RankShare, RequestsAreThoseOfTheRankWithinItsBuffers) {
  const Region send{{Rank(0), 3}, 100_B, 12_B};
  const Region receive{{Rank(0), 4}, 200_B, 3_B};
  const auto requests = requests_of(kFlows, Rank(0), send, receive);
  ASSERT_EQ(requests.size(), 3U);
  EXPECT_EQ(requests[0].side, Side::kSend);
  EXPECT_EQ(requests[0].peer, Rank(1));
  EXPECT_EQ(requests[0].buffer.buffer, send.buffer);
  EXPECT_EQ(requests[0].buffer.offset, 108_B);
  EXPECT_EQ(requests[0].buffer.size, 4_B);
  EXPECT_EQ(requests[1].peer, Rank(2));
  EXPECT_EQ(requests[2].side, Side::kReceive);
  EXPECT_EQ(requests[2].peer, Rank(1));
  EXPECT_EQ(requests[2].buffer.buffer, receive.buffer);
  EXPECT_EQ(requests[2].buffer.offset, 201_B);
}

TEST(RankShare, APlanHasAFlowPerTarget) {
  Plan plan;
  plan.transfers = {{.source = Rank(0),
                     .target = Rank(4),
                     .source_offset = 1_B,
                     .target_offset = 2_B,
                     .size = 3_B,
                     .route = Route::kStaged,
                     .send_nic = NicId(1),
                     .receive_nic = NicId(5),
                     .more_targets = {Rank(6)}}};
  const std::vector<Flow> flows = flows_of(plan);
  ASSERT_EQ(flows.size(), 2U);
  for (const Flow& flow : flows) {
    EXPECT_EQ(flow.source, Rank(0));
    EXPECT_EQ(flow.source_offset, 1_B);
    EXPECT_EQ(flow.target_offset, 2_B);
    EXPECT_EQ(flow.size, 3_B);
  }
  EXPECT_EQ(flows[0].target, Rank(4));
  EXPECT_EQ(flows[1].target, Rank(6));
}

}  // namespace
}  // namespace hoccl::engine
