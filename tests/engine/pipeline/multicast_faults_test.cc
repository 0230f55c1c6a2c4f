// A multicast that cannot succeed ends with a status at its source and at all its targets, gives
// every slot back, and nothing hangs.

#include <gtest/gtest.h>

#include "tests/engine/pipeline/multicast_run.h"

namespace hoccl::engine {
namespace {

using namespace literals;

constexpr Bytes kMessage = kMulticastChunk * 16;
const Rank kSource(0);
const Rank kSendRelay(1);
const Rank kReceiveRelay(5);

IdealOptions faulty(std::uint64_t seed = 0) {
  IdealOptions options;
  options.slots_are_read = false;
  options.send_slots = 3;
  options.receive_slots = 3;
  if (seed != 0) {
    options.timing = Timing::kAdversarial;
    options.seed = seed;
  }
  return options;
}

std::vector<Rank> participants() {
  std::vector<Rank> ranks = MulticastRun::kTargets;
  ranks.insert(ranks.begin(), kSource);
  return ranks;
}

void expect_everywhere(const MulticastRun& run, Cause cause) {
  for (const Rank rank : participants()) {
    EXPECT_EQ(run.status(rank).cause, cause)
        << "rank " << rank.value() << ": " << to_string(run.status(rank));
  }
}

TEST(MulticastFaults, AFailedDeliverOfOneTargetEndsItEverywhere) {
  IdealOptions options = faulty();
  options.faults.copy_fails = [](Rank rank, const CopyRequest& request) {
    return rank == Rank(6) && request.tag.chunk == 3;
  };
  MulticastRun run(options);
  run.enqueue(kMessage);
  run.run();
  expect_everywhere(run, Cause::kCopyError);
  EXPECT_EQ(run.status(Rank(7)).rank, Rank(6));
  EXPECT_EQ(run.status(Rank(7)).chunk, 3);
  run.expect_quiescent();
}

TEST(MulticastFaults, AFailedDeliverReachesTargetsAlsoWhenTheSourceHasEnded) {
  IdealOptions options = faulty();
  // All 16 chunks cross before anybody pulls: background gets half of the slots.
  options.send_slots = options.receive_slots = 32;
  options.faults.copy_fails = [](Rank rank, const CopyRequest& request) {
    return rank == Rank(6) && request.tag.chunk == 15;
  };
  MulticastRun run(options);
  Plan plan = run.plan_of(kMessage);
  plan.transfers.front().flow_class = FlowClass::kBackground;
  for (int i = 0; i < run.job().rank_count(); ++i) run.enqueue(Rank(i), plan);
  // These two may not pull yet.
  for (const Rank slow : {Rank(4), Rank(7)}) {
    run.fabric().port(slow).enqueue_foreground(StreamId(1), true);
    run.fabric().enqueue_delay(slow, StreamId(1), 1_ms);
    run.fabric().port(slow).enqueue_foreground(StreamId(1), false);
  }
  run.run();
  EXPECT_TRUE(run.status(kSource).ok()) << to_string(run.status(kSource));
  for (const Rank target : MulticastRun::kTargets) {
    EXPECT_EQ(run.status(target).cause, Cause::kCopyError) << target.value();
    EXPECT_LT(run.end(target), 1_ms);
  }
  run.expect_quiescent();
}

TEST(MulticastFaults, AFailedWriteEndsItEverywhere) {
  IdealOptions options = faulty();
  options.faults.write_fails = [](Rank, const WriteRequest& request) {
    return request.tag.chunk == 7;
  };
  MulticastRun run(options);
  run.enqueue(kMessage);
  run.run();
  expect_everywhere(run, Cause::kLinkError);
  for (const Rank rank : participants()) EXPECT_EQ(run.status(rank).link, "nic 1 -> nic 5");
  run.expect_quiescent();
}

TEST(MulticastFaults, OneTargetWithAnotherSizeEndsItEverywhere) {
  MulticastRun run(faulty());
  for (int i = 0; i < run.job().rank_count(); ++i) {
    run.enqueue(Rank(i), run.plan_of(Rank(i) == Rank(7) ? kMessage + 1_B : kMessage));
  }
  run.run();
  expect_everywhere(run, Cause::kSizeMismatch);
  EXPECT_EQ(run.status(kSource).peer, Rank(7));
  run.expect_quiescent();
}

TEST(MulticastFaults, AnAbortOfAnyParticipantEndsItEverywhere) {
  for (const Rank aborter : participants()) {
    for (int microsecond = 0; microsecond < 60; microsecond += 3) {
      SCOPED_TRACE(testing::Message() << "rank " << aborter.value() << " at " << microsecond);
      MulticastRun run(faulty());
      run.enqueue(kMessage);
      run.fabric().at(Seconds(1e-6 * microsecond),
                      [&] { run.job().communicator(aborter).abort(); });
      run.run();
      // Who had already ended stays as it was.
      for (const Rank rank : participants()) {
        const Cause cause = run.status(rank).cause;
        EXPECT_TRUE(cause == Cause::kAborted || cause == Cause::kNone)
            << to_string(run.status(rank));
      }
      if (microsecond < 20) expect_everywhere(run, Cause::kAborted);
      run.expect_quiescent();
    }
  }
}

/// Kills one rank at many times of a run: in every state that a chunk goes through.
void kill_at_any_time(Rank victim, std::uint64_t seed) {
  for (int microsecond = 0; microsecond < 80; microsecond += 2) {
    SCOPED_TRACE(testing::Message() << "rank " << victim.value() << " dies at " << microsecond
                                    << " us, seed " << seed);
    MulticastRun run(faulty(seed));
    run.enqueue(kMessage);
    run.fabric().kill(victim, Seconds(1e-6 * microsecond));
    run.run();
    for (const Rank rank : participants()) {
      if (rank == victim) continue;
      const Status status = run.status(rank);
      const bool told = status.cause == Cause::kPeerLost;
      // Writes into a dead host's slots fail before anybody is told.
      const bool cut_off = victim == kReceiveRelay && status.cause == Cause::kLinkError;
      EXPECT_TRUE(told || cut_off || status.ok()) << to_string(status);
      if (!status.ok()) {
        EXPECT_EQ(status.peer, victim) << to_string(status);
      }
    }
    if (seed == 0 && microsecond < 20) {
      EXPECT_FALSE(run.status(Rank(4)).ok());
    }
    run.expect_quiescent(victim);
  }
}

TEST(MulticastFaults, AKilledTargetEndsItEverywhere) {
  for (const std::uint64_t seed : {0U, 1U, 2U}) kill_at_any_time(Rank(7), seed);
}
TEST(MulticastFaults, AKilledSendRelayEndsItEverywhere) {
  for (const std::uint64_t seed : {0U, 1U, 2U}) kill_at_any_time(kSendRelay, seed);
}
TEST(MulticastFaults, AKilledReceiveRelayEndsItEverywhere) {
  for (const std::uint64_t seed : {0U, 1U, 2U}) kill_at_any_time(kReceiveRelay, seed);
}
TEST(MulticastFaults, AKilledSourceEndsItEverywhere) {
  for (const std::uint64_t seed : {0U, 1U, 2U}) kill_at_any_time(kSource, seed);
}

TEST(MulticastFaults, ASilentTargetIsNamedByTheTimeout) {
  MulticastRun run(faulty());
  for (int i = 0; i < run.job().rank_count(); ++i) {
    if (Rank(i) != Rank(6)) run.enqueue(Rank(i), run.plan_of(kMessage));
  }
  run.run();
  EXPECT_EQ(run.status(kSource).cause, Cause::kTimeout);
  EXPECT_EQ(run.status(kSource).peer, Rank(6));
  for (const Rank target : {Rank(4), Rank(7)}) {
    EXPECT_EQ(run.status(target).cause, Cause::kTimeout);
  }
  EXPECT_LE(run.fabric().now(), MulticastRun::kTimeout * 2.1);
  run.expect_quiescent();
}

}  // namespace
}  // namespace hoccl::engine
