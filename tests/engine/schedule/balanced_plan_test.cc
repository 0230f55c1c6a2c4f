// Whole plans of the collective patterns, checked by carrying them out on paper.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "engine/base/random.h"
#include "engine/pattern/pattern.h"
#include "engine/pattern/traffic_matrix.h"
#include "engine/schedule/compile.h"
#include "engine/schedule/compile_matrix.h"
#include "engine/schedule/compile_request.h"
#include "engine/schedule/wait_graph.h"
#include "tests/engine/schedule/plan_replay.h"
#include "tests/engine/schedule/topologies.h"

namespace hoccl::engine {
namespace {

using namespace literals;

Topology uneven(std::vector<int> gpus) {
  TopologyDescription result = cluster_description(1, 1);
  result.name = "uneven";
  result.gpus_per_node = gpus;
  result.nics.clear();
  for (std::size_t node = 0; node < gpus.size(); ++node) {
    for (int gpu = 0; gpu < gpus[node]; ++gpu) {
      result.nics.push_back({static_cast<int>(node), gpu, kNicRate});
    }
  }
  return Topology(std::move(result));
}

/// NICs next to every other GPU only.
Topology few_nics(int nodes, int gpus) {
  TopologyDescription result = cluster_description(nodes, gpus);
  std::erase_if(result.nics, [](const NicDescription& nic) { return nic.gpu % 2 == 1; });
  return Topology(std::move(result));
}

/// Ranks dealt out to the nodes in turn.
Topology dealt(int nodes, int gpus) {
  TopologyDescription result = cluster_description(nodes, gpus);
  for (int gpu = 0; gpu < gpus; ++gpu) {
    for (int node = 0; node < nodes; ++node) result.rank_gpus.push_back(node * gpus + gpu);
  }
  return Topology(std::move(result));
}

std::vector<Topology> topologies() {
  return {cluster(2, 8),
          cluster(4, 8),
          cluster(2, 2),
          cluster(1, 4),
          cluster(3, 3),
          cluster(2, 4, 2),
          uneven({4, 8}),
          uneven({2, 8, 3}),
          few_nics(3, 8),
          dealt(3, 4),
          host_staged_cluster(2, 4),
          preset_topology("h200-1x1").with_ranks(3),
          cluster(2, 8).with_ranks(6)};
}

PatternRequest request(std::string name, Bytes size) {
  PatternRequest result;
  result.name = std::move(name);
  result.size = size;
  return result;
}

constexpr const char* kPatterns[] = {"allgather", "alltoall", "alltoallv",
                                     "broadcast", "gather",   "scatter"};

void expect_sound(const Pattern& pattern, const Topology& topology, const CompileOptions& options) {
  const Plan plan = compile(pattern, topology, options);
  EXPECT_EQ(replay(plan, pattern, topology), "");
  EXPECT_EQ(contention(plan), "");
}

/// Lists are numbered within a plan.
Transfer without_lists(Transfer transfer) {
  transfer.stage_list = -1;
  for (Branch& branch : transfer.branches) branch.stage_list = -1;
  return transfer;
}

std::vector<StageList> lists_of(const Plan& plan, const Transfer& transfer) {
  std::vector<StageList> lists;
  const auto add = [&](std::int32_t list) {
    lists.push_back(list < 0 ? StageList{} : plan.stage_lists.at(static_cast<std::size_t>(list)));
  };
  add(transfer.stage_list);
  for (const Branch& branch : transfer.branches) add(branch.stage_list);
  return lists;
}

/// That the parts of the nodes are those of the whole.
void expect_parts(const Pattern& pattern, const Topology& topology, const CompileOptions& options) {
  const Plan whole = compile(pattern, topology, options);
  for (int i = 0; i < topology.node_count(); ++i) {
    const NodeId node(i);
    const Plan part = compile_for_node(pattern, topology, options, node);
    std::vector<Transfer> expected;
    for (const Transfer& transfer : whole.transfers) {
      const auto ranks = targets_of(transfer);
      if (topology.node_of(transfer.source) == node ||
          std::ranges::any_of(ranks, [&](Rank r) { return topology.node_of(r) == node; })) {
        expected.push_back(transfer);
      }
    }
    ASSERT_EQ(part.transfers.size(), expected.size());
    for (std::size_t k = 0; k < expected.size(); ++k) {
      ASSERT_EQ(without_lists(part.transfers[k]), without_lists(expected[k]))
          << "transfer " << expected[k].id.value();
      EXPECT_EQ(lists_of(part, part.transfers[k]), lists_of(whole, expected[k]));
    }
  }
}

std::vector<CompileOptions> option_sets() {
  CompileOptions base{.chunk_size = 256_KiB, .forwarding = Forwarding::kBalanced};
  std::vector<CompileOptions> sets = {base};
  const auto add = [&](auto change) {
    sets.push_back(base);
    change(sets.back());
  };
  add([](CompileOptions& o) { o.order = Order::kBvn; });
  add([](CompileOptions& o) { o.order = Order::kRotation; });
  add([](CompileOptions& o) { o.order = Order::kLocal; });
  add([](CompileOptions& o) { o.quantise = 0.05; });
  add([](CompileOptions& o) { o.nodes_per_stage_in = 1; });
  add([](CompileOptions& o) { o.rails = 1; });
  add([](CompileOptions& o) { o.algorithm = Algorithm::kP2p; });
  add([](CompileOptions& o) { o.algorithm = Algorithm::kRing; });
  add([](CompileOptions& o) { o.forwarding = Forwarding::kSymmetric; });
  add([](CompileOptions& o) {
    o.forwarding = Forwarding::kSymmetric;
    o.algorithm = Algorithm::kRing;
  });
  return sets;
}

std::string text(const CompileOptions& o) {
  return fmt::format("{} {} {} rails {} quantise {} nodes {}", to_string(o.forwarding),
                     to_string(o.order), to_string(o.algorithm), o.rails, o.quantise,
                     o.nodes_per_stage_in);
}

TEST(BalancedPlan, BringsEveryByteOnceWhateverThePatternTopologyAndOptions) {
  for (const Topology& topology : topologies()) {
    for (const char* name : kPatterns) {
      for (const Bytes size : {3_B, 1_MiB + 13_B, 40_MiB}) {
        PatternRequest wanted = request(name, size);
        wanted.matrix = MatrixKind::kZipf;
        wanted.root = Rank(topology.rank_count() - 1);
        const Pattern pattern = make_pattern(wanted, topology.rank_count());
        for (const CompileOptions& options : option_sets()) {
          SCOPED_TRACE(fmt::format("{} of {} on {} ({} ranks), {}", name, to_string(size),
                                   topology.name(), topology.rank_count(), text(options)));
          expect_sound(pattern, topology, options);
          if (testing::Test::HasFailure()) return;
        }
      }
    }
  }
}

TEST(BalancedPlan, EveryNodesPartIsThatOfTheWhole) {
  for (const Topology& topology : {cluster(2, 8), cluster(4, 4), cluster(2, 2), uneven({2, 4, 3}),
                                   dealt(3, 4), host_staged_cluster(3, 2)}) {
    for (const char* name : kPatterns) {
      PatternRequest wanted = request(name, 24_MiB);
      wanted.matrix = MatrixKind::kSparse;
      const Pattern pattern = make_pattern(wanted, topology.rank_count());
      for (const CompileOptions& options : option_sets()) {
        SCOPED_TRACE(fmt::format("{} on {}, {}", name, topology.name(), text(options)));
        expect_parts(pattern, topology, options);
      }
    }
  }
}

TEST(BalancedPlan, AMatrixGivesThePartThatItsFlowsGive) {
  for (const Topology& topology : {cluster(2, 8), cluster(3, 4), cluster(2, 2), dealt(3, 4)}) {
    for (const MatrixKind kind : matrix_kinds()) {
      for (const bool in_place : {false, true}) {
        const TrafficMatrix matrix = draw_matrix(kind, topology.rank_count(), 32_MiB, 5);
        const Pattern pattern = all_to_all_v(matrix, in_place);
        for (int i = 0; i < topology.node_count(); ++i) {
          const CompileOptions options{.chunk_size = 256_KiB, .forwarding = Forwarding::kBalanced};
          EXPECT_EQ(compile_matrix_for_node(matrix, in_place, topology, options, NodeId(i)),
                    compile_for_node(pattern, topology, options, NodeId(i)))
              << to_string(kind) << " on " << topology.name() << ", node " << i;
        }
      }
    }
  }
}

TEST(BalancedPlan, ARequestGivesThePartThatItsPatternGives) {
  for (const Topology& topology : {cluster(2, 8), cluster(3, 4), dealt(3, 4)}) {
    for (const Bytes size : {0_B, 3_B, 32_MiB, 32_MiB + Bytes(5), kMaxMessageSize}) {
      for (const std::string_view name : {"alltoall", "allgather"}) {
        PatternRequest request{.name = std::string(name), .size = size};
        request.in_place = size == 32_MiB;
        request.flow_class = size == 3_B ? FlowClass::kBackground : FlowClass::kForeground;
        const Pattern pattern = make_pattern(request, topology.rank_count());
        const CompileOptions options{.chunk_size = std::min(size / 100 + Bytes(1), kMaxChunkSize),
                                     .forwarding = Forwarding::kBalanced};
        for (int i = 0; i < topology.node_count(); ++i) {
          EXPECT_EQ(compile_request_for_node(request, topology, options, NodeId(i)),
                    compile_for_node(pattern, topology, options, NodeId(i)))
              << name << " of " << to_string(size) << " on " << topology.name() << ", node " << i;
        }
      }
    }
  }
}

/// Bytes that each NIC sends.
std::vector<std::int64_t> sent_by_nic(const Plan& plan, const Topology& topology) {
  std::vector<std::int64_t> sent(static_cast<std::size_t>(topology.nic_count()), 0);
  for (const Transfer& transfer : plan.transfers) {
    if (transfer.route != Route::kStaged) continue;
    const auto legs = static_cast<std::int64_t>(1 + transfer.branches.size());
    sent[transfer.send_nic.index()] += legs * transfer.size.count();
  }
  return sent;
}

/// By chunk.
std::vector<std::int32_t> stages_of(const Plan& plan, const Transfer& transfer) {
  std::vector<std::int32_t> stages;
  for (const StageSegment& segment : segments_of(plan, transfer)) {
    stages.insert(stages.end(), static_cast<std::size_t>(segment.chunks), segment.stage);
  }
  return stages;
}

TEST(BalancedPlan, UniformPatternsLoadEveryNicEquallyToWithinAChunk) {
  const CompileOptions options{.chunk_size = 2_MiB, .forwarding = Forwarding::kBalanced};
  for (const Topology& topology : {cluster(2, 8), cluster(4, 8), cluster(4, 4)}) {
    for (const char* name : {"allgather", "alltoall"}) {
      for (const Bytes size : {1_GiB, 16_MiB}) {
        const Plan plan =
            compile(make_pattern(request(name, size), topology.rank_count()), topology, options);
        const auto sent = sent_by_nic(plan, topology);
        EXPECT_LE(std::ranges::max(sent) - std::ranges::min(sent), (2_MiB).count())
            << name << " of " << to_string(size) << " on " << topology.name();
      }
    }
  }
}

TEST(BalancedPlan, AnAllGatherCrossesTheNetworkOncePerRemoteNode) {
  const Topology topology = cluster(4, 8);
  const Plan plan = compile(make_pattern(request("allgather", 1_GiB), 32), topology,
                            {.chunk_size = 2_MiB, .forwarding = Forwarding::kBalanced});
  std::int64_t crossed = 0;
  for (const std::int64_t sent : sent_by_nic(plan, topology)) crossed += sent;
  EXPECT_EQ(crossed, 3 * (1_GiB).count());
  // One stage-in for the three other nodes.
  for (const Transfer& transfer : plan.transfers) {
    if (transfer.route == Route::kStaged) {
      EXPECT_EQ(transfer.branches.size(), 2U);
    }
  }
}

TEST(BalancedPlan, ALargeBroadcastSendsNoMoreThanOneCopyFromAnyNode) {
  const Topology topology = cluster(4, 8);
  const Plan plan = compile(make_pattern(request("broadcast", 1_GiB), 32), topology,
                            {.chunk_size = 2_MiB, .forwarding = Forwarding::kBalanced});
  const auto sent = sent_by_nic(plan, topology);
  for (std::size_t node = 0; node < 4; ++node) {
    std::int64_t of_node = 0;
    for (std::size_t nic = 8 * node; nic < 8 * (node + 1); ++nic) of_node += sent[nic];
    // The root's node sends a third to each of the others, which pass it on to the other two.
    if (node == 0) {
      EXPECT_EQ(of_node, (1_GiB).count());
    } else {
      EXPECT_NEAR(static_cast<double>(of_node), 2.0 / 3.0 * static_cast<double>((1_GiB).count()),
                  static_cast<double>((4_MiB).count()));
    }
  }
  // What a rank pushes itself, without the deliveries that others pull: a peer of the root passes
  // its part, a seventh, to six peers, to the next node and back to the root.
  std::vector<std::int64_t> pushed(32, 0);
  for (const Transfer& transfer : plan.transfers) {
    pushed[transfer.source.index()] += transfer.size.count();
  }
  EXPECT_LE(std::ranges::max(pushed), 8 * ((1_GiB).count() / 7 + (2_MiB).count()));
}

TEST(BalancedPlan, NothingThatIsPassedOnBetweenNodesHasALowerStageThanWhatItWaitsFor) {
  for (const Order order : {Order::kCritical, Order::kBvn, Order::kRotation}) {
    const Topology topology = cluster(5, 8);
    const Plan plan =
        compile(make_pattern(request("broadcast", 1_GiB), 40), topology,
                {.chunk_size = 1_MiB, .forwarding = Forwarding::kBalanced, .order = order});
    int passed_on = 0;
    for (const Transfer& transfer : plan.transfers) {
      if (transfer.route != Route::kStaged || transfer.after.is_none()) continue;
      const Transfer& before =
          *std::ranges::lower_bound(plan.transfers, transfer.after, {}, &Transfer::id);
      if (before.route != Route::kStaged) continue;
      ++passed_on;
      const auto first = stages_of(plan, before);
      const auto second = stages_of(plan, transfer);
      ASSERT_EQ(first.size(), second.size());
      for (std::size_t k = 0; k < first.size(); ++k) ASSERT_LT(first[k], second[k]);
    }
    EXPECT_GT(passed_on, 0);
    EXPECT_TRUE(find_wait_cycle(plan).empty());
  }
}

TEST(BalancedPlan, ARingWithOneNicLeavesEveryNodeThroughOne) {
  const Topology topology = cluster(4, 8);
  for (const int nics : {1, 2, 8}) {
    const Plan plan = compile(make_pattern(request("allgather", 1_GiB), 32), topology,
                              {.chunk_size = 2_MiB,
                               .forwarding = Forwarding::kBalanced,
                               .algorithm = Algorithm::kRing,
                               .nics = nics});
    const auto sent = sent_by_nic(plan, topology);
    EXPECT_EQ(32 - std::ranges::count(sent, 0), 4 * nics);
  }
}

TEST(BalancedPlan, ThePlanDoesNotGrowWithTheSize) {
  const Topology topology = cluster(4, 8);
  const CompileOptions options{.chunk_size = 1_MiB, .forwarding = Forwarding::kBalanced};
  for (const char* name : kPatterns) {
    const auto transfers = [&](Bytes size) {
      return compile(make_pattern(request(name, size), 32), topology, options).transfers.size();
    };
    // How flows split where chunks are few may differ by a piece here and there.
    EXPECT_NEAR(static_cast<double>(transfers(4_GiB)), static_cast<double>(transfers(1024_GiB)),
                32.0)
        << name;
  }
}

TEST(BalancedPlan, RefusesAnOwnShareThatCannotLeaveItsGpu) {
  const Topology topology = cluster(1, 1);
  EXPECT_EQ(refusal([&] {
              compile(make_pattern(request("allgather", 1_MiB), 1), topology,
                      {.forwarding = Forwarding::kBalanced});
            }),
            "topology 'test-1x1': node 0 has 1 GPU(s): expected another one for rank 0's own share "
            "to pass through, because no leg copies within one GPU; --in-place needs none");
}

TEST(BalancedPlan, SaysHowManyRailsAFlowCanUse) {
  EXPECT_EQ(refusal([&] {
              compile(make_pattern(request("alltoall", 1_MiB), 16), cluster(2, 8),
                      {.rails = 7, .forwarding = Forwarding::kBalanced});
            }),
            "rails = 7: expected 1 to 6 from rank 0 to rank 9 on 'test-2x8'");
}

TEST(BalancedPlan, RefusesANodeWithoutAUsableNic) {
  EXPECT_EQ(refusal([&] {
              compile(make_pattern(request("alltoall", 1_MiB), 2), cluster(2, 1),
                      {.forwarding = Forwarding::kBalanced});
            }),
            "topology 'test-2x1': node 0 has 1 GPU(s): expected another one for rank 0's own share "
            "to pass through, because no leg copies within one GPU; --in-place needs none");
}

}  // namespace
}  // namespace hoccl::engine
