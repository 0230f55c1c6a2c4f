#include "engine/schedule/plan_cache.h"

#include <gtest/gtest.h>

#include "engine/pattern/sendrecv.h"
#include "engine/pattern/traffic_matrix.h"
#include "engine/schedule/compile_matrix.h"
#include "tests/engine/schedule/topologies.h"

namespace hoccl::engine {
namespace {

using namespace literals;

PatternRequest message(int source, int target, Bytes size) {
  return {"sendrecv", Rank(source), Rank(target), size};
}

TEST(PlanCache, GivesThePlanThatCompileGivesAndCompilesItOnce) {
  const Topology topology = cluster(2, 8);
  PlanCache cache(topology, 4);
  const CompileOptions options{.chunk_size = 1_MiB, .rails = 2};
  const auto first = cache.get(message(0, 8, 5_MiB), options);
  EXPECT_EQ(*first, compile(send_recv(16, Rank(0), Rank(8), 5_MiB), topology, options));
  EXPECT_EQ(cache.get(message(0, 8, 5_MiB), options), first);
  EXPECT_EQ(cache.hits(), 1);
  EXPECT_EQ(cache.misses(), 1);
}

TEST(PlanCache, TellsApartEverythingThatChangesAPlan) {
  const Topology topology = cluster(2, 8);
  PlanCache cache(topology, 16);
  const CompileOptions options{.chunk_size = 1_MiB, .rails = 2};
  cache.get(message(0, 8, 5_MiB), options);
  cache.get(message(1, 8, 5_MiB), options);
  cache.get(message(0, 9, 5_MiB), options);
  cache.get(message(0, 8, 6_MiB), options);
  cache.get({"sendrecv-ring", Rank(0), Rank(8), 5_MiB}, options);
  cache.get(message(0, 8, 5_MiB), {.chunk_size = 2_MiB, .rails = 2});
  cache.get(message(0, 8, 5_MiB), {.chunk_size = 1_MiB, .rails = 3});
  EXPECT_EQ(cache.misses(), 7);
  EXPECT_EQ(cache.hits(), 0);
  EXPECT_EQ(cache.size(), 7U);
}

TEST(PlanCache, DropsTheLeastRecentlyUsedPlan) {
  const Topology topology = cluster(2, 8);
  PlanCache cache(topology, 2);
  const auto dropped = cache.get(message(0, 8, 1_MiB), {});
  const auto kept = cache.get(message(1, 8, 1_MiB), {});
  EXPECT_EQ(cache.get(message(0, 8, 1_MiB), {}), dropped);  // now 1 -> 8 is the oldest
  cache.get(message(2, 8, 1_MiB), {});
  EXPECT_EQ(cache.size(), 2U);
  EXPECT_EQ(cache.get(message(0, 8, 1_MiB), {}), dropped);
  EXPECT_EQ(cache.misses(), 3);
  EXPECT_NE(cache.get(message(1, 8, 1_MiB), {}), kept);
  EXPECT_EQ(cache.misses(), 4);
  EXPECT_EQ(kept->transfers.size(), 1U);  // outlives its entry
}

TEST(PlanCache, KeepsNothingOfARefusedRequest) {
  const Topology topology = cluster(2, 8);
  PlanCache cache(topology, 2);
  cache.get(message(0, 8, 1_MiB), {});
  EXPECT_NE(refusal([&] { cache.get(message(0, 16, 1_MiB), {}); }), "accepted");
  EXPECT_NE(refusal([&] { cache.get(message(0, 8, 1_GiB), {.rails = 8}); }), "accepted");
  EXPECT_EQ(cache.size(), 1U);
}

constexpr CompileOptions kBalanced{.chunk_size = 256_KiB, .forwarding = Forwarding::kBalanced};

TEST(PlanCache, TellsTheNodesPartsApart) {
  const Topology topology = cluster(2, 4);
  PlanCache cache(topology, 8);
  const PatternRequest request{.name = "allgather", .size = 8_MiB};
  const auto part = cache.get_for_node(request, kBalanced, NodeId(1));
  EXPECT_EQ(*part, compile_for_node(make_pattern(request, 8), topology, kBalanced, NodeId(1)));
  EXPECT_NE(cache.get_for_node(request, kBalanced, NodeId(0)), part);
  EXPECT_EQ(cache.get_for_node(request, kBalanced, NodeId(1)), part);
  EXPECT_NE(cache.get(request, kBalanced), part);
  EXPECT_EQ(cache.hits(), 1);
  EXPECT_EQ(cache.misses(), 3);
}

TEST(PlanCache, FindsAMatrixAgainOnlyIfEveryEntryIsTheSame) {
  const Topology topology = cluster(2, 4);
  PlanCache cache(topology, 8);
  TrafficMatrix matrix = draw_matrix(MatrixKind::kRandom, 8, 8_MiB, 1);
  const auto first = cache.get_for_node(matrix, false, kBalanced, NodeId(0));
  EXPECT_EQ(*first, compile_matrix_for_node(matrix, false, topology, kBalanced, NodeId(0)));
  EXPECT_EQ(cache.get_for_node(TrafficMatrix(matrix), false, kBalanced, NodeId(0)), first);
  EXPECT_EQ(cache.hits(), 1);
  EXPECT_NE(cache.get_for_node(matrix, true, kBalanced, NodeId(0)), first);
  EXPECT_NE(cache.get_for_node(matrix, false, kBalanced, NodeId(1)), first);
  for (Eigen::Index i = 0; i < matrix.size(); ++i) {
    matrix.data()[i] += 1;
    EXPECT_NE(cache.get_for_node(matrix, false, kBalanced, NodeId(0)), first) << i;
    matrix.data()[i] -= 1;
  }
  EXPECT_EQ(cache.hits(), 1);
}

TEST(PlanCache, KeepsTheStagesWhenOnlySharesWithinTheNodesChange) {
  const Topology topology = cluster(3, 4);
  PlanCache cache(topology, 4);
  TrafficMatrix matrix = draw_matrix(MatrixKind::kRandom, 12, 64_MiB, 1);
  cache.get_for_node(matrix, false, kBalanced, NodeId(0));
  EXPECT_EQ(cache.stage_hits(), 0);
  const std::int64_t moved = matrix(0, 5) / 2;
  matrix(0, 5) -= moved;
  matrix(1, 6) += moved;
  EXPECT_EQ(*cache.get_for_node(matrix, false, kBalanced, NodeId(0)),
            compile_matrix_for_node(matrix, false, topology, kBalanced, NodeId(0)));
  EXPECT_EQ(cache.stage_hits(), 1);
  EXPECT_EQ(cache.misses(), 2);
}

TEST(PlanCache, DropsTheLeastRecentlyUsedMatrix) {
  const Topology topology = cluster(2, 4);
  PlanCache cache(topology, 2);
  const auto matrix = [](std::uint64_t seed) {
    return draw_matrix(MatrixKind::kRandom, 8, 8_MiB, seed);
  };
  const auto kept = cache.get_for_node(matrix(1), false, kBalanced, NodeId(0));
  const auto dropped = cache.get_for_node(matrix(2), false, kBalanced, NodeId(0));
  EXPECT_EQ(cache.get_for_node(matrix(1), false, kBalanced, NodeId(0)), kept);
  cache.get_for_node(matrix(3), false, kBalanced, NodeId(0));
  EXPECT_EQ(cache.size(), 2U);
  EXPECT_EQ(cache.get_for_node(matrix(1), false, kBalanced, NodeId(0)), kept);
  EXPECT_NE(cache.get_for_node(matrix(2), false, kBalanced, NodeId(0)), dropped);
}

}  // namespace
}  // namespace hoccl::engine
