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

TEST(RankShare, AMulticastReachesAllItsTargets) {
  const std::vector<Flow> flows = {{.source = Rank(2),
                                    .target = Rank(0),
                                    .source_offset = 1_B,
                                    .target_offset = 10_B,
                                    .size = 5_B,
                                    .more_targets = {Rank(3)}}};
  EXPECT_EQ(ranks_of(flows, 5), (std::vector{Rank(0), Rank(2), Rank(3)}));
  const std::vector<BufferSizes> sizes = buffer_sizes_by_rank(flows, 5);
  for (int number = 0; number < 5; ++number) {
    const Rank rank(number);
    EXPECT_EQ(is_for(flows[0], rank), rank == Rank(0) || rank == Rank(3)) << number;
    EXPECT_EQ(sizes[rank.index()].send, buffer_sizes(flows, rank).send) << number;
    EXPECT_EQ(sizes[rank.index()].receive, buffer_sizes(flows, rank).receive) << number;
  }
  EXPECT_EQ(sizes[2].send, 6_B);
  EXPECT_EQ(sizes[3].receive, 15_B);
  EXPECT_EQ(sizes[1].receive, 0_B);
}

TEST(RankShare, WhatIsPassedOnComesFromWhoHadItFirst) {
  Plan plan;
  plan.transfers = {{.id = FlowId(0),
                     .source = Rank(0),
                     .target = Rank(1),
                     .source_offset = 1_B,
                     .target_offset = 20_B,
                     .size = 3_B,
                     .send_nic = {},
                     .receive_nic = {}},
                    {.id = FlowId(1),
                     .source = Rank(1),
                     .target = Rank(2),
                     .source_offset = 20_B,
                     .target_offset = 30_B,
                     .size = 3_B,
                     .send_nic = {},
                     .receive_nic = {},
                     .after = FlowId(0)}};
  const std::vector<Flow> flows = flows_of(plan);
  ASSERT_EQ(flows.size(), 2U);
  EXPECT_EQ(flows[1].source, Rank(0));
  EXPECT_EQ(flows[1].source_offset, 1_B);
  EXPECT_EQ(flows[1].target, Rank(2));
  EXPECT_EQ(flows[1].target_offset, 30_B);
}

}  // namespace
}  // namespace hoccl::engine
