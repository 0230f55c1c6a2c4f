#include "engine/schedule/own_nic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/pattern/sendrecv.h"
#include "engine/pattern/traffic_matrix.h"
#include "engine/schedule/compile_matrix.h"
#include "engine/schedule/compile_request.h"
#include "engine/schedule/verifier.h"
#include "tests/engine/schedule/plan_replay.h"
#include "tests/engine/schedule/topologies.h"

namespace hoccl::engine {
namespace {

using namespace literals;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr SlotSupply kSlots{.slot_size = 1_MiB, .send_slots = 1, .receive_slots = 1};
constexpr SlotSupply kNoSlots{};

CompileOptions own_nic(int rails = 0, Algorithm algorithm = Algorithm::kMulticast) {
  return {.chunk_size = 1_MiB,
          .rails = rails,
          .forwarding = Forwarding::kOwnNic,
          .algorithm = algorithm};
}

NicPair pair(int send, int receive) { return {NicId(send), NicId(receive)}; }

NicPair pair_of(const Transfer& transfer) { return {transfer.send_nic, transfer.receive_nic}; }

std::vector<Transfer> with_route(const Plan& plan, Route route) {
  std::vector<Transfer> found;
  std::ranges::copy_if(plan.transfers, std::back_inserter(found),
                       [&](const Transfer& transfer) { return transfer.route == route; });
  return found;
}

/// One flow from `source` to all of `targets`.
Pattern multicast(const Topology& topology, int source, const std::vector<int>& targets,
                  Bytes size) {
  Flow flow{.source = Rank(source),
            .target = Rank(targets.front()),
            .source_offset = 1_KiB,
            .target_offset = 3_KiB,
            .size = size};
  for (std::size_t i = 1; i < targets.size(); ++i) flow.more_targets.emplace_back(targets[i]);
  Pattern pattern;
  pattern.name = "drawn";
  pattern.rank_count = topology.rank_count();
  pattern.message_size = 1_KiB + size;
  pattern.flows = {flow};
  return pattern;
}

/// `counts` NICs next to the GPUs of every node.
Topology with_nics(int nodes, const std::vector<int>& counts) {
  TopologyDescription description = cluster_description(nodes, static_cast<int>(counts.size()));
  description.nics.clear();
  for (int node = 0; node < nodes; ++node) {
    for (std::size_t gpu = 0; gpu < counts.size(); ++gpu) {
      for (int i = 0; i < counts[gpu]; ++i) {
        description.nics.push_back({node, static_cast<int>(gpu), kNicRate});
      }
    }
  }
  return Topology(description);
}

TEST(OwnNic, AMessageToAnotherNodeGoesFromBufferToBufferOverTheNicsNextToItsEnds) {
  const Topology topology = cluster(2, 8);
  const Pattern pattern = send_recv(16, Rank(3), Rank(13), 9_MiB);
  const Plan plan = compile(pattern, topology, own_nic());
  ASSERT_EQ(plan.transfers.size(), 1U);
  EXPECT_EQ(plan.transfers[0].route, Route::kRegistered);
  EXPECT_EQ(pair_of(plan.transfers[0]), pair(3, 13));
  EXPECT_EQ(plan.transfers[0].size, 9_MiB);
  EXPECT_THAT(find_violations(plan, &pattern, topology, kNoSlots), IsEmpty());
}

TEST(OwnNic, AMessageInsideANodeIsDirect) {
  const Plan plan = compile(send_recv(16, Rank(3), Rank(5), 9_MiB), cluster(2, 8), own_nic());
  ASSERT_EQ(plan.transfers.size(), 1U);
  EXPECT_EQ(plan.transfers[0].route, Route::kDirect);
}

TEST(OwnNic, SplitsAMessageOverAllNicsOfItsEndsOrAsManyAsAskedFor) {
  const Topology topology = cluster(2, 2, 2);
  const Pattern pattern = send_recv(4, Rank(0), Rank(2), 2_MiB + 1_B);
  const Plan all = compile(pattern, topology, own_nic());
  ASSERT_EQ(all.transfers.size(), 2U);
  EXPECT_EQ(pair_of(all.transfers[0]), pair(0, 4));
  EXPECT_EQ(pair_of(all.transfers[1]), pair(1, 5));
  // Whole chunks; the last piece has the odd one.
  EXPECT_EQ(all.transfers[0].size, 1_MiB);
  EXPECT_EQ(all.transfers[1].size, 1_MiB + 1_B);
  EXPECT_EQ(all.transfers[1].source_offset, 1_MiB);
  EXPECT_EQ(all.transfers[1].target_offset, 1_MiB);
  EXPECT_EQ(compile(pattern, topology, own_nic(1)).transfers.size(), 1U);
  EXPECT_EQ(refusal([&] { compile(pattern, topology, own_nic(3)); }),
            "rails = 3: expected 1 to 2 from rank 0 to rank 2 on 'test-2x2'");
}

TEST(OwnNic, AGpuWithMoreNicsThanItsPartnersUsesAllOfThemOverTime) {
  // GPU 0 of each node has two NICs, the others one each, so one pair serves rank 4 or 5.
  const Topology topology = with_nics(2, {2, 1, 1});
  std::map<NicId, int> uses;
  for (int source : {4, 5}) ++uses[own_nic_pairs(topology, Rank(source), Rank(0), 0)[0].receive];
  EXPECT_EQ(uses, (std::map<NicId, int>{{NicId(0), 1}, {NicId(1), 1}}));
  EXPECT_EQ(own_nic_pairs(topology, Rank(0), Rank(3), 0).size(), 2U);
  EXPECT_EQ(own_nic_pairs(topology, Rank(0), Rank(4), 0).size(), 1U);
}

TEST(OwnNic, AMulticastCrossesOncePerNodeToTheCounterpartWhichPassesItOn) {
  const Topology topology = cluster(2, 4);
  const Pattern pattern = multicast(topology, 1, {0, 4, 5, 7}, 3_MiB);
  const Plan plan = compile(pattern, topology, own_nic());
  const std::vector<Transfer> crossing = with_route(plan, Route::kRegistered);
  ASSERT_EQ(crossing.size(), 1U);
  EXPECT_EQ(crossing[0].target, Rank(5));
  EXPECT_EQ(pair_of(crossing[0]), pair(1, 5));
  EXPECT_EQ(crossing[0].source_offset, 1_KiB);
  EXPECT_EQ(crossing[0].target_offset, 3_KiB);
  std::vector<Rank> served;
  for (const Transfer& transfer : with_route(plan, Route::kDirect)) {
    served.push_back(transfer.target);
    if (transfer.source == Rank(1)) {
      EXPECT_EQ(transfer.target, Rank(0));
      EXPECT_EQ(transfer.source_offset, 1_KiB);
      continue;
    }
    EXPECT_EQ(transfer.source, Rank(5));
    EXPECT_EQ(transfer.after, crossing[0].id);
    // Where it lies in rank 5's receive buffer.
    EXPECT_EQ(transfer.source_offset, 3_KiB);
    EXPECT_EQ(transfer.target_offset, 3_KiB);
  }
  std::ranges::sort(served);
  EXPECT_THAT(served, ElementsAre(Rank(0), Rank(4), Rank(7)));
  EXPECT_THAT(find_violations(plan, &pattern, topology, kNoSlots), IsEmpty());
  EXPECT_EQ(replay(plan, pattern, topology), "");
}

TEST(OwnNic, ARailRingGoesFromNodeToNodeAndFansOutInEach) {
  const Topology topology = cluster(3, 2);
  const Pattern pattern = make_pattern({.name = "allgather", .size = 6_MiB, .in_place = true}, 6);
  CompileOptions options = own_nic(0, Algorithm::kRing);
  options.order = Order::kLocal;
  const Plan plan = compile(pattern, topology, options);
  EXPECT_THAT(find_violations(plan, &pattern, topology, kNoSlots), IsEmpty());
  EXPECT_EQ(replay(plan, pattern, topology), "");
  std::map<NicId, NicId> receiver_of;
  std::map<NicId, Bytes> sent;
  int waiting = 0;
  for (const Transfer& crossing : with_route(plan, Route::kRegistered)) {
    const auto [entry, is_new] = receiver_of.try_emplace(crossing.send_nic, crossing.receive_nic);
    EXPECT_EQ(entry->second, crossing.receive_nic) << "its rail's next NIC only";
    sent[crossing.send_nic] += crossing.size;
    waiting += crossing.after.is_none() ? 0 : 1;
  }
  EXPECT_EQ(receiver_of.size(), 6U);
  EXPECT_EQ(receiver_of.at(NicId(0)), NicId(2));
  EXPECT_EQ(receiver_of.at(NicId(5)), NicId(1));
  for (const auto& [nic, bytes] : sent) EXPECT_EQ(bytes, 2_MiB);
  EXPECT_EQ(waiting, 6) << "every block's second crossing";
}

TEST(OwnNic, WithoutACounterpartSourcesTakeTurnsAmongTheTargets) {
  const Topology topology = cluster(2, 4);
  const auto entry = [&](int source) {
    const Plan plan = compile(multicast(topology, source, {6, 7}, 1_MiB), topology, own_nic());
    return with_route(plan, Route::kRegistered).at(0).target;
  };
  EXPECT_EQ(entry(0), Rank(6));
  EXPECT_EQ(entry(1), Rank(7));
  EXPECT_EQ(entry(2), Rank(6));  // its counterparts
  EXPECT_EQ(entry(3), Rank(7));
}

TEST(OwnNic, EveryPieceOfAMulticastIsPassedOnByItself) {
  const Topology topology = cluster(2, 3, 2);
  const Pattern pattern = multicast(topology, 0, {3, 4, 5}, 5_MiB);
  const Plan plan = compile(pattern, topology, own_nic());
  ASSERT_EQ(with_route(plan, Route::kRegistered).size(), 2U);
  for (const Transfer& piece : with_route(plan, Route::kRegistered)) {
    std::vector<Rank> served;
    for (const Transfer& transfer : plan.transfers) {
      if (transfer.after != piece.id) continue;
      served.push_back(transfer.target);
      EXPECT_EQ(transfer.size, piece.size);
      EXPECT_EQ(transfer.source_offset, piece.target_offset);
    }
    EXPECT_THAT(served, ElementsAre(Rank(4), Rank(5)));
  }
  EXPECT_EQ(replay(plan, pattern, topology), "");
}

TEST(OwnNic, PointToPointSendsToEveryTargetOnItsOwn) {
  const Topology topology = cluster(2, 4);
  const Plan plan =
      compile(multicast(topology, 1, {0, 4, 5, 7}, 3_MiB), topology, own_nic(0, Algorithm::kP2p));
  EXPECT_EQ(with_route(plan, Route::kRegistered).size(), 3U);
  EXPECT_EQ(with_route(plan, Route::kDirect).size(), 1U);
  EXPECT_TRUE(std::ranges::all_of(
      plan.transfers, [](const Transfer& transfer) { return transfer.after.is_none(); }));
}

TEST(OwnNic, ARanksOwnShareGoesOverAPeer) {
  const Topology topology = cluster(2, 2);
  // Of an AllToAll through a slot, of an AllGather back from whoever has it.
  const Plan alltoall =
      compile(make_pattern({.name = "alltoall", .size = 4_MiB}, 4), topology, own_nic());
  EXPECT_EQ(with_route(alltoall, Route::kRelayed).size(), 4U);
  const Plan allgather =
      compile(make_pattern({.name = "allgather", .size = 4_MiB}, 4), topology, own_nic());
  EXPECT_THAT(with_route(allgather, Route::kRelayed), IsEmpty());
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(std::ranges::count_if(allgather.transfers,
                                    [&](const Transfer& transfer) {
                                      return transfer.target == Rank(rank) &&
                                             transfer.source != Rank(rank) &&
                                             transfer.target_offset == 1_MiB * rank;
                                    }),
              1);
  }
}

TEST(OwnNic, RefusesARankWithoutANicThatSendsOrReceivesBetweenNodes) {
  const Topology topology = with_nics(2, {1, 0});
  const std::string expected =
      "topology 'test-2x2': node 1 has 2 GPU(s) and 1 NIC(s): expected a NIC next to GPU 3, that "
      "of rank 3, because with forwarding own-nic it reads and writes that GPU's memory";
  for (const auto& [source, target] : {std::pair(0, 3), std::pair(3, 0)}) {
    const Pattern pattern = send_recv(4, Rank(source), Rank(target), 1_MiB);
    EXPECT_EQ(refusal([&] { compile(pattern, topology, own_nic()); }), expected);
  }
  // Inside its node it needs none.
  EXPECT_EQ(compile(send_recv(4, Rank(2), Rank(3), 1_MiB), topology, own_nic()).transfers.size(),
            1U);
}

TEST(OwnNic, RefusesRingsInStagesAndMapWires) {
  const Pattern pattern = make_pattern({.name = "allgather", .size = 4_MiB}, 4);
  EXPECT_EQ(refusal([&] { compile(pattern, cluster(2, 2), own_nic(0, Algorithm::kRing)); }),
            "order = critical: expected local with algorithm ring and forwarding own-nic");
  EXPECT_EQ(refusal([&] {
              compile(send_recv(2, Rank(0), Rank(1), 1_MiB), preset_topology("h200-1x1"),
                      own_nic());
            }),
            "topology 'h200-1x1': wire = map: expected nic with forwarding own-nic, because a map "
            "wire moves no bytes between user buffers");
}

/// The plan's part of a node, by hand.
Plan part_of(Plan plan, const Topology& topology, NodeId node) {
  std::erase_if(plan.transfers, [&](const Transfer& transfer) {
    return topology.node_of(transfer.source) != node && topology.node_of(transfer.target) != node;
  });
  return plan;
}

TEST(OwnNic, EveryPatternIsCarriedAndEveryNodeKnowsItsPart) {
  std::vector<Topology> topologies = {cluster(2, 4), cluster(3, 3), cluster(2, 3, 2),
                                      host_staged_cluster(3, 2),
                                      preset_topology("h800-2x8").with_ranks(6)};
  topologies.push_back(with_nics(3, {2, 1, 3}));
  for (const Topology& topology : topologies) {
    for (const std::string_view name : pattern_names()) {
      for (const Order order : {Order::kCritical, Order::kBvn, Order::kRotation, Order::kLocal}) {
        for (const Algorithm algorithm :
             {Algorithm::kMulticast, Algorithm::kP2p, Algorithm::kRing}) {
          if (algorithm == Algorithm::kRing && order != Order::kLocal) continue;
          const PatternRequest request{.name = std::string(name),
                                       .source = Rank(0),
                                       .target = Rank(topology.rank_count() - 1),
                                       .size = 11_MiB + 5_B,
                                       .matrix = MatrixKind::kRandom};
          CompileOptions options = own_nic(0, algorithm);
          options.order = order;
          const Pattern pattern = make_pattern(request, topology.rank_count());
          const Plan plan = compile(pattern, topology, options);
          EXPECT_THAT(find_violations(plan, &pattern, topology, kSlots), IsEmpty()) << name;
          EXPECT_EQ(replay(plan, pattern, topology), "") << name;
          EXPECT_EQ(contention(plan), "") << name;
          EXPECT_THAT(with_route(plan, Route::kStaged), IsEmpty()) << name;
          for (int i = 0; i < topology.node_count(); ++i) {
            const NodeId node(i);
            const Plan part = part_of(plan, topology, node);
            EXPECT_EQ(compile_for_node(pattern, topology, options, node), part) << name;
            EXPECT_EQ(compile_request_for_node(request, topology, options, node), part) << name;
          }
        }
      }
    }
  }
}

TEST(OwnNic, AMatrixGivesThePlanOfItsFlows) {
  const Topology topology = cluster(2, 4);
  TrafficMatrix matrix = TrafficMatrix::Zero(8, 8);
  for (int source = 0; source < 8; ++source) {
    for (int target = 0; target < 8; ++target) {
      matrix(source, target) = (source * 5 + target * 3) % 7 * 700'000;
    }
  }
  for (const bool in_place : {false, true}) {
    const Pattern pattern = all_to_all_v(matrix, in_place);
    for (int node = 0; node < 2; ++node) {
      EXPECT_EQ(compile_matrix_for_node(matrix, in_place, topology, own_nic(), NodeId(node)),
                compile_for_node(pattern, topology, own_nic(), NodeId(node)));
    }
  }
}

TEST(OwnNic, IdsAreInTheOrderOfTheStagesAndFollowersStandBehindWhatTheyFollow) {
  const Topology topology = cluster(4, 3);
  const Plan plan =
      compile(make_pattern({.name = "allgather", .size = 48_MiB}, 12), topology, own_nic());
  std::int32_t stage = 0;
  FlowId first = FlowId::none();
  for (const Transfer& transfer : plan.transfers) {
    if (!transfer.after.is_none()) {
      EXPECT_EQ(transfer.after, first);
      continue;
    }
    first = transfer.id;
    if (transfer.route != Route::kRegistered) continue;
    const std::int32_t begins =
        transfer.stage_list < 0
            ? transfer.stage
            : plan.stage_lists[static_cast<std::size_t>(transfer.stage_list)].marks[0].stage;
    EXPECT_GE(begins, stage);
    stage = begins;
  }
  EXPECT_GT(stage, 0);
}

}  // namespace
}  // namespace hoccl::engine
