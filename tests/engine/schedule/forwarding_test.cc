#include "engine/schedule/forwarding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "tests/engine/schedule/topologies.h"

namespace hoccl::engine {
namespace {

using namespace literals;
using testing::ElementsAre;

NicPair pair(int send, int receive) { return {NicId(send), NicId(receive)}; }

Flow flow(int source, int target, Bytes size) {
  return {Rank(source), Rank(target), 0_B, 0_B, size, FlowClass::kForeground};
}

std::vector<Transfer> forwarded(const Flow& flow, const Topology& topology, Bytes chunk,
                                int rails) {
  std::vector<Transfer> transfers;
  forward(flow, topology, chunk, rails, transfers);
  return transfers;
}

TEST(Forwarding, SendsAMessageInsideANodeDirectlyWhateverTheRails) {
  const auto transfers = forwarded(flow(1, 2, 9_MiB), cluster(2, 4), 1_MiB, 4);
  ASSERT_EQ(transfers.size(), 1U);
  EXPECT_EQ(transfers[0].route, Route::kDirect);
  EXPECT_EQ(transfers[0].size, 9_MiB);
  EXPECT_TRUE(transfers[0].send_nic.is_none());
  EXPECT_TRUE(transfers[0].receive_nic.is_none());
}

TEST(Forwarding, PairsTheNicsOfTheSymmetricGpusAlsoAcrossRails) {
  // NIC number = GPU number here; node 1 starts at 8.
  const Topology topology = cluster(2, 8);
  EXPECT_EQ(candidate_pairs(topology, Rank(0), Rank(8)).front(), pair(1, 9));
  EXPECT_EQ(candidate_pairs(topology, Rank(3), Rank(11)).front(), pair(2, 10));
  EXPECT_EQ(candidate_pairs(topology, Rank(0), Rank(13)).front(), pair(1, 12));
  EXPECT_EQ(candidate_pairs(topology, Rank(9), Rank(6)).front(), pair(8, 7));
}

TEST(Forwarding, UsesTheNextGpuWhereXor1DoesNotExist) {
  const Topology topology = cluster(2, 3);
  EXPECT_EQ(candidate_pairs(topology, Rank(2), Rank(3)).front(), pair(0, 4));
}

TEST(Forwarding, GoesOnWithSharedRailsThenCrossesTheRest) {
  // Source GPU 0, target local GPU 5 (13): first 1 -> 12; rails 2, 3, 6, 7 are free on both
  // sides; 0 and 13 are end points, so 4 and 5 of node 0 cross to 0 and 1 of node 1.
  EXPECT_THAT(candidate_pairs(cluster(2, 8), Rank(0), Rank(13)),
              ElementsAre(pair(1, 12), pair(2, 10), pair(3, 11), pair(6, 14), pair(7, 15),
                          pair(4, 8), pair(5, 9)));
}

TEST(Forwarding, NeverUsesAnEndPointsNicNorOneNicTwice) {
  for (const Topology& topology : {cluster(2, 2), cluster(2, 3), cluster(3, 8), cluster(2, 4, 2)}) {
    for (int source = 0; source < topology.rank_count(); ++source) {
      for (int target = 0; target < topology.rank_count(); ++target) {
        if (topology.node_of(Rank(source)) == topology.node_of(Rank(target))) continue;
        const auto pairs = candidate_pairs(topology, Rank(source), Rank(target));
        std::set<NicId> sending;
        std::set<NicId> receiving;
        for (const NicPair& candidate : pairs) {
          EXPECT_TRUE(sending.insert(candidate.send).second);
          EXPECT_TRUE(receiving.insert(candidate.receive).second);
          EXPECT_EQ(topology.nic(candidate.send).node, topology.node_of(Rank(source)));
          EXPECT_EQ(topology.nic(candidate.receive).node, topology.node_of(Rank(target)));
          EXPECT_NE(topology.nic(candidate.send).gpu, topology.gpu_of(Rank(source)));
          EXPECT_NE(topology.nic(candidate.receive).gpu, topology.gpu_of(Rank(target)));
        }
        const std::size_t nics_per_gpu = topology.nics_of(GpuId(0)).size();
        const std::size_t others = topology.gpus_of(NodeId(0)).size() - 1;
        EXPECT_EQ(pairs.size(), others * nics_per_gpu) << source << " -> " << target;
      }
    }
  }
}

TEST(Forwarding, UsesAllNicsOfTheSymmetricGpusFirst) {
  // Two NICs per GPU: GPU 1 has 2 and 3, GPU 5 (node 1, index 1) has 10 and 11.
  const auto pairs = candidate_pairs(cluster(2, 4, 2), Rank(0), Rank(4));
  ASSERT_GE(pairs.size(), 2U);
  EXPECT_EQ(pairs[0], pair(2, 10));
  EXPECT_EQ(pairs[1], pair(3, 11));
}

TEST(Forwarding, SkipsGpusWithoutANic) {
  TopologyDescription description = cluster_description(2, 4);
  // NICs next to GPUs 0 and 2 only; the symmetric partner of GPU 0 has none.
  std::erase_if(description.nics, [](const NicDescription& nic) { return nic.gpu % 2 == 1; });
  const Topology topology(description);
  EXPECT_THAT(candidate_pairs(topology, Rank(0), Rank(4)), ElementsAre(pair(1, 3)));
  EXPECT_THAT(candidate_pairs(topology, Rank(1), Rank(5)), ElementsAre(pair(0, 2), pair(1, 3)));
}

TEST(Forwarding, HostStagingMayUseEveryNicAndStartsWithTheNearest) {
  EXPECT_THAT(candidate_pairs(host_staged_cluster(2, 2), Rank(0), Rank(2)),
              ElementsAre(pair(0, 2), pair(1, 3)));
  EXPECT_THAT(candidate_pairs(host_staged_cluster(2, 1), Rank(0), Rank(1)),
              ElementsAre(pair(0, 1)));
  EXPECT_THAT(candidate_pairs(preset_topology("h200-1x1"), Rank(0), Rank(1)),
              ElementsAre(pair(0, 1)));
}

TEST(Forwarding, SplitsIntoWholeChunksAndGivesTheLastPiecesTheOddOnes) {
  // 10 chunks, the last of 1 byte, over 4 rails: 2, 2, 3, 3.
  const Bytes size = 9_MiB + 1_B;
  const auto transfers = forwarded(flow(0, 8, size), cluster(2, 8), 1_MiB, 4);
  ASSERT_EQ(transfers.size(), 4U);
  EXPECT_EQ(transfers[0].size, 2_MiB);
  EXPECT_EQ(transfers[1].size, 2_MiB);
  EXPECT_EQ(transfers[2].size, 3_MiB);
  EXPECT_EQ(transfers[3].size, 2_MiB + 1_B);
  Bytes offset(0);
  for (const Transfer& transfer : transfers) {
    EXPECT_EQ(transfer.route, Route::kStaged);
    EXPECT_EQ(transfer.source_offset, offset);
    EXPECT_EQ(transfer.target_offset, offset);
    offset += transfer.size;
  }
  EXPECT_EQ(offset, size);
}

TEST(Forwarding, KeepsTheOffsetsOfTheFlow) {
  Flow shifted = flow(0, 8, 4_MiB);
  shifted.source_offset = 3_KiB;
  shifted.target_offset = 5_KiB;
  shifted.flow_class = FlowClass::kBackground;
  const auto transfers = forwarded(shifted, cluster(2, 8), 1_MiB, 2);
  ASSERT_EQ(transfers.size(), 2U);
  EXPECT_EQ(transfers[1].source_offset, 3_KiB + 2_MiB);
  EXPECT_EQ(transfers[1].target_offset, 5_KiB + 2_MiB);
  EXPECT_EQ(transfers[1].flow_class, FlowClass::kBackground);
}

TEST(Forwarding, UsesNoMoreRailsThanThereAreChunks) {
  EXPECT_EQ(forwarded(flow(0, 8, 1_MiB + 1_B), cluster(2, 8), 1_MiB, 7).size(), 2U);
  EXPECT_EQ(forwarded(flow(0, 8, 1_B), cluster(2, 8), 1_MiB, 7).size(), 1U);
  EXPECT_TRUE(forwarded(flow(0, 8, 0_B), cluster(2, 8), 1_MiB, 7).empty());
}

TEST(Forwarding, SaysHowManyRailsArePossible) {
  EXPECT_EQ(forwarded(flow(0, 8, 8_MiB), cluster(2, 8), 1_MiB, 7).size(), 7U);
  EXPECT_EQ(refusal([] { forwarded(flow(0, 8, 8_MiB), cluster(2, 8), 1_MiB, 8); }),
            "rails = 8: expected 1 to 7 from rank 0 to rank 8 on 'test-2x8'");
  // Also when the message is too small to use them: the option is wrong all the same.
  EXPECT_EQ(refusal([] { forwarded(flow(0, 3, 1_B), cluster(2, 3), 1_MiB, 3); }),
            "rails = 3: expected 1 to 2 from rank 0 to rank 3 on 'test-2x3'");
}

TEST(Forwarding, RefusesPeerStagingOnANodeWithOneGpu) {
  EXPECT_EQ(refusal([] { forwarded(flow(0, 1, 1_MiB), cluster(2, 1), 1_MiB, 1); }),
            "topology 'test-2x1': node 0 has 1 GPU(s) and 1 NIC(s): expected a NIC next to another "
            "GPU than that of rank 0, because staging = peer keeps slots in a peer GPU's memory");
}

TEST(Forwarding, NamesAreReadBack) {
  for (const Forwarding each :
       {Forwarding::kSymmetric, Forwarding::kBalanced, Forwarding::kOwnNic}) {
    EXPECT_EQ(parse_forwarding(to_string(each)), each);
  }
  EXPECT_EQ(to_string(Forwarding::kOwnNic), "own-nic");
  EXPECT_EQ(refusal([] { parse_forwarding("own"); }),
            "forwarding = 'own': expected balanced, symmetric or own-nic");
}

}  // namespace
}  // namespace hoccl::engine
