#include "engine/pipeline/fair_share.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>

#include "engine/schedule/compile.h"
#include "tests/support/pattern_run.h"

namespace hoccl::engine {
namespace {

/// Communicators that always want something, each in pieces of its own size.
class Shares {
 public:
  void join(std::uint16_t communicator, std::int64_t piece) { pieces_[communicator] = piece; }
  void leave(std::uint16_t communicator) { pieces_.erase(communicator); }
  void serve(int times) {
    for (int i = 0; i < times; ++i) {
      const auto next = std::ranges::min_element(
          pieces_, {}, [&](const auto& entry) { return share_.served(entry.first); });
      share_.charge(next->first, next->second);
      got_[next->first] += next->second;
    }
  }
  [[nodiscard]] std::int64_t got(std::uint16_t communicator) { return got_[communicator]; }

 private:
  FairShare share_;
  std::map<std::uint16_t, std::int64_t> pieces_;
  std::map<std::uint16_t, std::int64_t> got_;
};

TEST(FairShare, GivesEqualPartsWhateverTheSizeOfThePieces) {
  Shares shares;
  shares.join(1, 100);
  shares.join(2, 7);
  shares.join(3, 30);
  shares.serve(5000);
  const std::int64_t largest_piece = 100;
  EXPECT_LE(std::abs(shares.got(1) - shares.got(2)), largest_piece);
  EXPECT_LE(std::abs(shares.got(1) - shares.got(3)), largest_piece);
}

TEST(FairShare, LetsALateComerCatchUpOnNothing) {
  Shares shares;
  shares.join(1, 10);
  shares.serve(1000);
  shares.join(2, 10);
  const std::int64_t before = shares.got(1);
  shares.serve(100);
  EXPECT_LE(std::abs(shares.got(1) - before - shares.got(2)), 10);
}

TEST(FairShare, HoldsNothingAgainstOneThatWasServedWhileOthersIdled) {
  Shares shares;
  shares.join(1, 10);
  shares.join(2, 10);
  shares.serve(100);
  shares.leave(2);
  shares.serve(1000);
  shares.join(2, 10);
  const std::int64_t first = shares.got(1);
  const std::int64_t second = shares.got(2);
  shares.serve(100);
  EXPECT_LE(std::abs(shares.got(1) - first - (shares.got(2) - second)), 10);
}

constexpr Bytes kChunk(4096);
/// Of every pair of ranks.
constexpr std::int64_t kChunks = 32;

/// An AllToAll on two nodes of two GPUs that one lane and one queue pair carry chunk by chunk, so
/// that whoever goes first gets everything.
class TwoCommunicators {
 public:
  explicit TwoCommunicators(FlowClass flow_class = FlowClass::kForeground)
      : topology_(resolve_topology("h800-2x2")),
        pattern_(make_pattern({.name = "alltoall",
                               .size = kChunk * kChunks * topology_.rank_count(),
                               .in_place = true},
                              topology_.rank_count())),
        run_(topology_, fabric_options(), pipeline_options()) {
    for (Flow& flow : pattern_.flows) flow.flow_class = flow_class;
    CompileOptions options;
    options.chunk_size = kChunk;
    options.forwarding = Forwarding::kBalanced;
    plan_ = std::make_shared<const Plan>(compile(pattern_, topology_, options));
  }

  /// Of a communicator of its own; returns its number.
  std::size_t start(Seconds delay) {
    const auto id = static_cast<std::uint16_t>(++count_);
    const std::size_t operation = run_.add(pattern_, {plan_}, id);
    for (int rank = 0; rank < topology_.rank_count(); ++rank) {
      run_.fabric().enqueue_delay(Rank(rank), StreamId(count_), delay);
      run_.enqueue(operation, Rank(rank), StreamId(count_));
    }
    return operation;
  }
  PatternRun& run() {
    run_.run();
    EXPECT_EQ(run_.wrong(), "");
    return run_;
  }

 private:
  static IdealOptions fabric_options() {
    IdealOptions options;
    options.slot_size = kChunk;
    options.send_slots = 4;
    options.receive_slots = 4;
    return options;
  }
  static PipelineOptions pipeline_options() {
    PipelineOptions options;
    options.streams = 1;
    options.quantum = 1;
    options.queue_pairs = 1;
    options.nic_depth = 1;
    return options;
  }

  Topology topology_;
  Pattern pattern_;
  PatternRun run_;
  std::shared_ptr<const Plan> plan_;
  int count_ = 0;
};

/// How long one takes that has everything to itself.
Seconds alone() {
  TwoCommunicators job;
  const std::size_t only = job.start(Seconds(0.0));
  return job.run().end(only);
}

/// A few chunks of the many that each pair of ranks exchanges.
constexpr double kFewChunks = 3.0 / kChunks;

TEST(FairShare, LetsTwoCommunicatorsEndTogether) {
  for (const FlowClass flow_class : {FlowClass::kForeground, FlowClass::kBackground}) {
    TwoCommunicators job(flow_class);
    const std::size_t first = job.start(Seconds(0.0));
    const std::size_t second = job.start(Seconds(0.0));
    const PatternRun& run = job.run();
    const Seconds both = std::max(run.end(first), run.end(second));
    EXPECT_NEAR(run.end(first) / both, 1.0, kFewChunks);
    EXPECT_NEAR(run.end(second) / both, 1.0, kFewChunks);
    // They share, neither is for nothing.
    EXPECT_GT(both, 1.3 * alone());
  }
}

TEST(FairShare, LetsALateCommunicatorStarveNobody) {
  const Seconds time = alone();
  TwoCommunicators job;
  const std::size_t early = job.start(Seconds(0.0));
  const std::size_t late = job.start(time / 2);
  const PatternRun& run = job.run();
  // With a third at least of what they share, the second half of the early one takes three times as
  // long at most. What both still have to do differs, so more cannot be asked.
  EXPECT_LT(run.end(early), time * 0.5 + time * 0.5 * 3.0);
  EXPECT_LT(run.end(late) - time * 0.5, time * 0.5 * 3.0 + time * 0.5);
  EXPECT_GT(run.end(early), time);
  EXPECT_GT(run.end(late), run.end(early));
}

}  // namespace
}  // namespace hoccl::engine
