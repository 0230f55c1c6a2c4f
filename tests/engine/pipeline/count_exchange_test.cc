// AllToAllvs of which every rank knows its own row only: rows are exchanged before there is a plan,
// and whatever goes wrong before that ends the operation everywhere.

#include "engine/pipeline/count_exchange.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "tests/engine/pipeline/counted_job.h"

namespace hoccl::engine {
namespace {

const Rank kSilent(5);

TrafficMatrix matrix(MatrixKind kind, std::uint64_t seed = 1) {
  return draw_matrix(kind, CountedJob::kRanks, CountedJob::kChunk * 12 + Bytes(5), seed);
}

void call_all_but(CountedJob& job, std::size_t operation, Rank silent) {
  for (int rank = 0; rank < CountedJob::kRanks; ++rank) {
    if (Rank(rank) != silent) job.call(operation, Rank(rank));
  }
}

/// Expects this cause at every rank but `silent`.
void expect_cause(const CountedJob& job, std::size_t operation, Cause cause, Rank silent) {
  for (int rank = 0; rank < CountedJob::kRanks; ++rank) {
    if (Rank(rank) == silent) continue;
    const std::optional<Status> status = job.status(operation, Rank(rank));
    ASSERT_TRUE(status.has_value()) << "rank " << rank << " did not end";
    EXPECT_EQ(status->cause, cause) << "rank " << rank << ": " << to_string(*status);
  }
}

TEST(CountExchange, PlansWhenAllRowsAreThere) {
  for (const MatrixKind kind : matrix_kinds()) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      CountedJob job(CountedJob::fabric_options(Timing::kAdversarial, seed));
      const std::size_t operation = job.add(matrix(kind, seed));
      job.call_all(operation);
      EXPECT_EQ(job.run(), RunEnd::kIdle);
      EXPECT_EQ(job.wrong(operation), "") << to_string(kind) << ", seed " << seed;
      EXPECT_TRUE(job.job().quiescent());
      EXPECT_EQ(job.fabric().unfinished(), "");
    }
  }
}

TEST(CountExchange, AcceptsRowsOfNothing) {
  CountedJob job(CountedJob::fabric_options(Timing::kAdversarial));
  TrafficMatrix counts = TrafficMatrix::Zero(CountedJob::kRanks, CountedJob::kRanks);
  counts(1, 6) = 5000;
  const std::size_t operation = job.add(counts);
  job.call_all(operation);
  EXPECT_EQ(job.run(), RunEnd::kIdle);
  EXPECT_EQ(job.wrong(operation), "");
}

TEST(CountExchange, WaitsForARankThatCallsLate) {
  constexpr Seconds kLate(5e-3);
  CountedJob job(CountedJob::fabric_options(Timing::kClosedForm));
  const std::size_t operation = job.add(matrix(MatrixKind::kRandom));
  call_all_but(job, operation, kSilent);
  Seconds first_end(1.0);
  for (int rank = 0; rank < CountedJob::kRanks; ++rank) {
    if (Rank(rank) == kSilent) continue;
    job.fabric().enqueue_callback(Rank(rank), StreamId(0),
                                  [&] { first_end = std::min(first_end, job.fabric().now()); });
  }
  job.fabric().at(kLate, [&] { job.call(operation, kSilent); });
  EXPECT_EQ(job.run(), RunEnd::kIdle);
  EXPECT_EQ(job.wrong(operation), "");
  EXPECT_GT(first_end, kLate);
}

TEST(CountExchange, HasPlannedBeforeALateStreamComes) {
  constexpr Seconds kLate(5e-3);
  CountedJob job(CountedJob::fabric_options(Timing::kClosedForm));
  const std::size_t operation = job.add(matrix(MatrixKind::kRandom));
  job.fabric().enqueue_delay(kSilent, StreamId(0), kLate);
  job.call_all(operation);
  std::string while_waiting;
  job.fabric().at(kLate / 2, [&] { while_waiting = job.job().proxy(kSilent).describe(); });
  EXPECT_EQ(job.run(), RunEnd::kIdle);
  EXPECT_EQ(job.wrong(operation), "");
  EXPECT_EQ(while_waiting.find("counts of"), std::string::npos) << while_waiting;
}

TEST(CountExchange, KeepsTwoOperationsOfACommunicatorApart) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CountedJob job(CountedJob::fabric_options(Timing::kAdversarial, seed));
    const std::size_t first = job.add(matrix(MatrixKind::kZipf, seed));
    const std::size_t second = job.add(matrix(MatrixKind::kSparse, seed));
    for (int rank = 0; rank < CountedJob::kRanks; ++rank) {
      job.call(first, Rank(rank), StreamId(0));
      job.call(second, Rank(rank), StreamId(1));
    }
    EXPECT_EQ(job.run(), RunEnd::kIdle);
    EXPECT_EQ(job.wrong(first), "") << seed;
    EXPECT_EQ(job.wrong(second), "") << seed;
    EXPECT_TRUE(job.job().quiescent()) << seed;
  }
}

TEST(CountExchange, EndsEverywhereWhenARankDiesBeforeItCalls) {
  for (const bool late : {false, true}) {
    CountedJob job(CountedJob::fabric_options(Timing::kClosedForm));
    const std::size_t operation = job.add(matrix(MatrixKind::kRandom));
    job.fabric().kill(kSilent, Seconds(1e-4));
    // Before its loss is known, or after.
    job.fabric().at(Seconds(late ? 10e-3 : 0.0), [&] { call_all_but(job, operation, kSilent); });
    EXPECT_EQ(job.run(), RunEnd::kIdle);
    expect_cause(job, operation, Cause::kPeerLost, kSilent);
    EXPECT_EQ(job.status(operation, Rank(0))->peer, kSilent);
  }
}

TEST(CountExchange, EndsEverywhereWhenARankDiesAtAnyTime) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    IdealOptions options = CountedJob::fabric_options(Timing::kAdversarial, seed);
    options.slots_are_read = false;
    CountedJob job(options);
    const std::size_t operation = job.add(matrix(MatrixKind::kUniform));
    job.call_all(operation);
    job.fabric().kill(kSilent, Seconds(2e-5 * static_cast<double>(seed)));
    EXPECT_EQ(job.run(), RunEnd::kIdle);
    for (int rank = 0; rank < CountedJob::kRanks; ++rank) {
      if (Rank(rank) == kSilent) continue;
      const std::optional<Status> status = job.status(operation, Rank(rank));
      ASSERT_TRUE(status.has_value()) << "seed " << seed << ": rank " << rank << " did not end";
      // Who meets its death at a link or a buffer sees an error there.
      EXPECT_TRUE(status->ok() || status->peer == kSilent) << to_string(*status);
      EXPECT_TRUE(job.job().proxy(Rank(rank)).quiescent())
          << "seed " << seed << ": " << job.job().proxy(Rank(rank)).describe();
    }
  }
}

TEST(CountExchange, EndsEverywhereWhenAborted) {
  CountedJob job(CountedJob::fabric_options(Timing::kClosedForm));
  const std::size_t operation = job.add(matrix(MatrixKind::kRandom));
  call_all_but(job, operation, kSilent);
  job.fabric().at(Seconds(1e-3), [&] { job.job().communicator(Rank(2)).abort(); });
  // It learns of the failure before it calls.
  job.fabric().at(Seconds(2e-3), [&] { job.call(operation, kSilent); });
  EXPECT_EQ(job.run(), RunEnd::kIdle);
  expect_cause(job, operation, Cause::kAborted, Rank::none());
  EXPECT_TRUE(job.job().quiescent());
  EXPECT_TRUE(job.fabric().streams_drained());
}

TEST(CountExchange, AbortsItsOwnCommunicatorOnly) {
  CountedJob job(CountedJob::fabric_options(Timing::kClosedForm));
  const std::size_t aborted = job.add(matrix(MatrixKind::kRandom), 1);
  const std::size_t other = job.add(matrix(MatrixKind::kZipf), 2);
  for (int rank = 0; rank < CountedJob::kRanks; ++rank) {
    if (Rank(rank) != kSilent) job.call(aborted, Rank(rank), StreamId(0));
    job.call(other, Rank(rank), StreamId(1));
  }
  job.fabric().at(Seconds(1e-3), [&] { job.job().communicator(Rank(2), 1).abort(); });
  EXPECT_EQ(job.run(), RunEnd::kIdle);
  expect_cause(job, aborted, Cause::kAborted, kSilent);
  EXPECT_EQ(job.wrong(other), "");
}

TEST(CountExchange, NamesTheRankThatIsSilentWhenItTimesOut) {
  PipelineOptions pipeline;
  pipeline.timeout = Seconds(0.5);
  CountedJob job(CountedJob::fabric_options(Timing::kClosedForm), pipeline);
  const std::size_t operation = job.add(matrix(MatrixKind::kRandom));
  call_all_but(job, operation, kSilent);
  EXPECT_EQ(job.run(), RunEnd::kIdle);
  expect_cause(job, operation, Cause::kTimeout, kSilent);
  for (int rank = 0; rank < CountedJob::kRanks; ++rank) {
    if (Rank(rank) == kSilent) continue;
    EXPECT_EQ(job.status(operation, Rank(rank))->peer, kSilent) << rank;
  }
  EXPECT_GE(job.fabric().now(), pipeline.timeout);
}

TEST(CountExchange, EndsEverywhereWhenABufferIsTooSmall) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    IdealOptions options = CountedJob::fabric_options(Timing::kAdversarial, seed);
    options.slots_are_read = false;
    CountedJob job(options);
    const std::size_t operation = job.add(matrix(MatrixKind::kUniform));
    for (int rank = 0; rank < CountedJob::kRanks; ++rank) {
      job.call(operation, Rank(rank), StreamId(0), Bytes(Rank(rank) == kSilent ? 1 : 0));
    }
    EXPECT_EQ(job.run(), RunEnd::kIdle);
    expect_cause(job, operation, Cause::kSizeMismatch, Rank::none());
    EXPECT_TRUE(job.job().quiescent()) << seed;
  }
}

}  // namespace
}  // namespace hoccl::engine
