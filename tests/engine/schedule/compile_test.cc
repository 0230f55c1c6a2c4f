#include "engine/schedule/compile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "engine/pattern/sendrecv.h"
#include "engine/schedule/verifier.h"
#include "tests/engine/schedule/plan_replay.h"
#include "tests/engine/schedule/topologies.h"

namespace hoccl::engine {
namespace {

using namespace literals;

constexpr SlotSupply kSlots{.slot_size = 64_MiB, .send_slots = 4, .receive_slots = 4};

CompileOptions options(Bytes chunk, int rails) {
  return {.chunk_size = chunk, .rails = rails, .forwarding = Forwarding::kSymmetric};
}

TEST(Compile, FillsTheHeaderFromPatternTopologyAndOptions) {
  const Plan plan =
      compile(send_recv(16, Rank(0), Rank(8), 10_MiB), cluster(2, 8), options(2_MiB, 1));
  EXPECT_EQ(plan.pattern, "sendrecv");
  EXPECT_EQ(plan.topology, "test-2x8");
  EXPECT_EQ(plan.rank_count, 16);
  EXPECT_EQ(plan.message_size, 10_MiB);
  EXPECT_EQ(plan.chunk_size, 2_MiB);
  ASSERT_EQ(plan.transfers.size(), 1U);
  EXPECT_EQ(chunks_of(plan.transfers[0], plan.chunk_size), 5);
}

TEST(Compile, GivesTheSamePlanAgain) {
  const Pattern pattern = send_recv_ring(24, 33_MiB);
  EXPECT_EQ(compile(pattern, cluster(3, 8), options(1_MiB, 4)),
            compile(pattern, cluster(3, 8), options(1_MiB, 4)));
}

TEST(Compile, EveryPairAndRailCountPassesTheVerifier) {
  for (const Topology& topology :
       {cluster(2, 8), cluster(2, 3), cluster(3, 2), cluster(2, 4, 2), host_staged_cluster(2, 4),
        preset_topology("h200-1x1"), preset_topology("h800-2x8").with_ranks(6)}) {
    for (int source = 0; source < topology.rank_count(); ++source) {
      for (int target = 0; target < topology.rank_count(); ++target) {
        if (source == target) continue;
        const bool inside = topology.node_of(Rank(source)) == topology.node_of(Rank(target));
        const std::size_t rails =
            inside ? 1 : candidate_pairs(topology, Rank(source), Rank(target)).size();
        for (int used = 1; used <= static_cast<int>(rails); ++used) {
          const Pattern pattern =
              send_recv(topology.rank_count(), Rank(source), Rank(target), 5_MiB + 3_B);
          const Plan plan = compile(pattern, topology, options(512_KiB, used));
          EXPECT_EQ(find_violations(plan, &pattern, topology, kSlots), std::vector<std::string>());
          EXPECT_EQ(plan.transfers.size(), static_cast<std::size_t>(used));
        }
      }
    }
  }
}

TEST(Compile, TheLengthOfAPlanDoesNotDependOnTheSize) {
  const Topology topology = cluster(2, 8);
  for (const Bytes size : {64_MiB, 1_GiB, 64_GiB}) {
    const Pattern pattern = send_recv(16, Rank(0), Rank(8), size);
    EXPECT_EQ(compile(pattern, topology, options(1_MiB, 4)).transfers.size(), 4U);
  }
}

TEST(Compile, ARingNeedsOneStageWhereNicsSuffice) {
  const Plan plan = compile(send_recv_ring(16, 8_MiB), cluster(2, 8), options(1_MiB, 1));
  ASSERT_EQ(plan.transfers.size(), 16U);
  for (const Transfer& transfer : plan.transfers) EXPECT_EQ(transfer.stage, 0);
  const auto staged = std::ranges::count(plan.transfers, Route::kStaged, &Transfer::route);
  EXPECT_EQ(staged, 2);  // 7 -> 8 and 15 -> 0
}

TEST(Compile, ARingThatCrossesNodesAtEveryHopGetsLegalStagesInOrder) {
  // Ranks alternate between the nodes, so that all 16 flows are staged; striped over 4 rails each
  // NIC is wanted by several of them.
  TopologyDescription description = cluster_description(2, 8);
  for (int gpu = 0; gpu < 8; ++gpu) {
    description.rank_gpus.push_back(gpu);
    description.rank_gpus.push_back(8 + gpu);
  }
  const Topology topology(description);
  const Pattern pattern = send_recv_ring(16, 8_MiB);
  const Plan plan = compile(pattern, topology, options(1_MiB, 4));
  EXPECT_EQ(find_violations(plan, &pattern, topology, kSlots), std::vector<std::string>());
  EXPECT_EQ(contention(plan), "");
  std::map<NicId, std::int64_t> sent;
  std::map<NicId, std::int64_t> received;
  std::int64_t length = 0;
  for (const Transfer& transfer : plan.transfers) {
    sent[transfer.send_nic] += chunks_of(transfer, plan.chunk_size);
    received[transfer.receive_nic] += chunks_of(transfer, plan.chunk_size);
    length = std::max({length, sent[transfer.send_nic], received[transfer.receive_nic]});
  }
  // Stages as long as the busiest NIC and no longer; a stage holds a chunk of some NIC at least.
  std::set<std::int32_t> stages;
  for (const Transfer& transfer : plan.transfers) {
    for (const StageSegment& segment : segments_of(plan, transfer)) stages.insert(segment.stage);
  }
  EXPECT_LE(static_cast<std::int64_t>(stages.size()), length);
}

TEST(Compile, AnEmptyMessageGivesAPlanWithoutTransfers) {
  const Pattern pattern = send_recv(16, Rank(0), Rank(8), 0_B);
  const Plan plan = compile(pattern, cluster(2, 8), options(1_MiB, 2));
  EXPECT_TRUE(plan.transfers.empty());
  EXPECT_TRUE(find_violations(plan, &pattern, cluster(2, 8), kSlots).empty());
  EXPECT_TRUE(find_violations(plan, nullptr, cluster(2, 8), kSlots).empty());
}

TEST(Compile, RefusesBadOptions) {
  const Pattern pattern = send_recv(16, Rank(0), Rank(8), 1_GiB);
  const auto compiled = [&](Bytes chunk, int rails) {
    return refusal([&] { compile(pattern, cluster(2, 8), options(chunk, rails)); });
  };
  EXPECT_EQ(compiled(0_B, 1), "chunk = 0B: expected 1B to " + to_string(kMaxChunkSize));
  EXPECT_EQ(compiled(4_GiB, 1), "chunk = 4GiB: expected 1B to " + to_string(kMaxChunkSize));
  EXPECT_EQ(compiled(1_MiB, -1), "rails = -1: expected 1 or more");
  EXPECT_EQ(refusal([&] { compile(pattern, cluster(1, 8), options(1_MiB, 1)); }),
            "pattern sendrecv: ranks = 16: expected 8, the ranks of topology 'test-1x8'");
  const Pattern large = send_recv(16, Rank(0), Rank(8), 8_GiB);
  EXPECT_EQ(refusal([&] { compile(large, cluster(2, 8), options(1_B, 1)); }),
            "chunk = 1B: expected at most 2147483647 chunks in 8GiB");
}

}  // namespace
}  // namespace hoccl::engine
