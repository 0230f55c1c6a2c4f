#include "engine/schedule/plan_cache.h"

#include <gtest/gtest.h>

#include "engine/pattern/sendrecv.h"
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

}  // namespace
}  // namespace hoccl::engine
