// One message to several ranks of a node: the wire is crossed once, every target pulls.

#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "engine/schedule/verifier.h"
#include "tests/engine/pipeline/multicast_run.h"

namespace hoccl::engine {
namespace {

using namespace literals;

constexpr Bytes kOneChunk = kMulticastChunk;
constexpr Bytes kManyChunks = kMulticastChunk * 15 + Bytes(123);
constexpr std::int64_t kChunkCount = 16;

TEST(Multicast, OfOneChunkTakesAsLongAsToOneTarget) {
  IdealOptions options;
  MulticastRun run(options);
  run.enqueue(kOneChunk);
  run.run();
  run.expect_all_ok();
  // ready, lease request, credit request, credit, grant | stage-in | staged | wire | landed |
  // deliver: seven messages, two copies, one write, whatever the number of targets.
  const IdealTiming& timing = options.closed_form;
  const Seconds copy = timing.copy_launch + kOneChunk / timing.copy_rate;
  const Seconds write = kOneChunk / timing.write_rate + timing.write_latency;
  const Seconds expected = 7 * timing.message_latency + 2 * copy + write;
  for (const Rank target : MulticastRun::kTargets) {
    EXPECT_NEAR(run.end(target).count(), expected.count(), 1e-9 * expected.count());
  }
}

TEST(Multicast, CrossesTheWireOnceAndIsPulledByEveryTarget) {
  int writes = 0;
  int delivers = 0;
  int stage_ins = 0;
  IdealOptions options;
  options.faults.write_fails = [&](Rank, const WriteRequest&) {
    ++writes;
    return false;
  };
  options.faults.copy_fails = [&](Rank, const CopyRequest& request) {
    ++(request.leg == Leg::kDeliver ? delivers : stage_ins);
    return false;
  };
  MulticastRun run(options);
  run.enqueue(kManyChunks);
  run.run();
  run.expect_all_ok();
  EXPECT_EQ(writes, kChunkCount);
  EXPECT_EQ(stage_ins, kChunkCount);
  EXPECT_EQ(delivers, kChunkCount * std::ssize(MulticastRun::kTargets));
}

TEST(Multicast, WorksThroughASingleSlot) {
  IdealOptions options;
  options.send_slots = 1;
  options.receive_slots = 1;
  MulticastRun run(options);
  run.enqueue(kManyChunks);
  run.run();
  run.expect_all_ok();
}

TEST(Multicast, IsAdmittedWhenItsLastTargetIsReady) {
  constexpr Seconds kLate = 5_ms;
  std::optional<Seconds> first_copy;
  std::unique_ptr<MulticastRun> run;
  IdealOptions options;
  options.faults.copy_fails = [&](Rank, const CopyRequest&) {
    if (!first_copy) first_copy = run->fabric().now();
    return false;
  };
  run = std::make_unique<MulticastRun>(options);
  run->fabric().enqueue_delay(Rank(7), StreamId(0), kLate);
  run->enqueue(kManyChunks);
  run->run();
  run->expect_all_ok();
  ASSERT_TRUE(first_copy.has_value());
  EXPECT_GE(*first_copy, kLate);
}

TEST(Multicast, HoldsBackASlotUntilItsSlowestTargetHasPulled) {
  constexpr Seconds kSlow = 5_ms;
  IdealOptions options;
  options.receive_slots = 4;
  std::int64_t pulled_early = 0;
  std::unique_ptr<MulticastRun> run;
  options.faults.copy_fails = [&](Rank rank, const CopyRequest&) {
    pulled_early += rank == Rank(4) && run->fabric().now() < kSlow ? 1 : 0;
    return false;
  };
  run = std::make_unique<MulticastRun>(options);
  Plan plan = run->plan_of(kManyChunks);
  plan.transfers.front().flow_class = FlowClass::kBackground;
  for (int i = 0; i < run->job().rank_count(); ++i) run->enqueue(Rank(i), plan);
  run->fabric().port(Rank(7)).enqueue_foreground(StreamId(1), true);
  run->fabric().enqueue_delay(Rank(7), StreamId(1), kSlow);
  run->fabric().port(Rank(7)).enqueue_foreground(StreamId(1), false);
  run->run();
  run->expect_all_ok();
  // The others get no further than the slots that the slow one has not read: half of them, because
  // the rest is kept for foreground.
  EXPECT_EQ(pulled_early, options.receive_slots / 2);
}

TEST(Multicast, GoesRightWhateverTheFabricDoes) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(seed);
    IdealOptions options;
    options.timing = Timing::kAdversarial;
    options.seed = seed;
    options.send_slots = 1 + static_cast<int>(seed % 3);
    options.receive_slots = 1 + static_cast<int>(seed % 5);
    MulticastRun run(options);
    run.enqueue(kManyChunks);
    run.enqueue(kOneChunk);
    run.run();
    run.expect_all_ok();
  }
}

TEST(Multicast, ThatRunsHereIsValid) {
  const MulticastRun run(IdealOptions{});
  const SlotSupply slots{.slot_size = kMulticastChunk, .send_slots = 1, .receive_slots = 1};
  EXPECT_EQ(find_violations(run.plan_of(kManyChunks), nullptr, resolve_topology("h800-2x4"), slots),
            std::vector<std::string>());
}

}  // namespace
}  // namespace hoccl::engine
