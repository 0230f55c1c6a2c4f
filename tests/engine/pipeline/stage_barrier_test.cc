#include "engine/pipeline/stage_barrier.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "engine/schedule/compile.h"
#include "tests/engine/pipeline/scripted_port.h"
#include "tests/support/pattern_run.h"

namespace hoccl::engine {
namespace {

/// Rank 0 of three: the one that opens stages.
class StageBarrierTest : public ::testing::Test {
 protected:
  void done(int rank, std::int32_t stage) {
    StageMessage message;
    message.kind = MessageKind::kStageDone;
    message.stage = stage;
    barrier_.stage_done(Rank(rank), message);
  }
  /// What rank 0 has said has reached it.
  void done_here(std::int32_t stage) {
    barrier_.done_below(OperationId(), kMembers, stage);
    const auto message = port_.messages.back();
    port_.messages.pop_back();
    EXPECT_EQ(message.first, Rank(0));
    barrier_.stage_done(Rank(0), unpack<StageMessage>(message.second));
  }
  /// Stages opened since the last call, with how many ranks were told.
  std::map<std::int32_t, int> opened() {
    std::map<std::int32_t, int> result;
    for (const auto& [target, message] : std::exchange(port_.messages, {})) {
      EXPECT_EQ(kind_of(message), MessageKind::kStageOpen);
      result[unpack<StageMessage>(message).stage] += 1;
    }
    return result;
  }

  using Opened = std::map<std::int32_t, int>;
  const std::vector<Rank> kMembers = {Rank(0), Rank(1), Rank(2)};
  ScriptedPort port_;
  StageBarrier barrier_{port_};
};

TEST_F(StageBarrierTest, OpensWhatEverybodyHasComeTo) {
  done(1, 0);
  done(2, 0);
  EXPECT_EQ(opened(), Opened());
  done_here(0);
  EXPECT_EQ(opened(), (Opened{{0, 3}}));
  done(1, 1);
  done_here(2);
  EXPECT_EQ(opened(), Opened());
  done(2, 1);
  EXPECT_EQ(opened(), (Opened{{1, 3}}));
}

TEST_F(StageBarrierTest, SkipsStagesThatNobodyHas) {
  done(1, 4);
  done(2, StageBarrier::kNoMore);
  done_here(7);
  EXPECT_EQ(opened(), (Opened{{4, 3}}));
  done(1, StageBarrier::kNoMore);
  EXPECT_EQ(opened(), (Opened{{7, 3}}));
}

TEST_F(StageBarrierTest, SaysNothingWhenNobodyHasMore) {
  done(1, StageBarrier::kNoMore);
  done(2, StageBarrier::kNoMore);
  done_here(StageBarrier::kNoMore);
  EXPECT_EQ(opened(), Opened());
}

TEST_F(StageBarrierTest, WaitsForItsOwnRankBeforeItTellsAnybody) {
  done(1, 3);
  done(2, 3);
  EXPECT_EQ(opened(), Opened());
}

constexpr Bytes kChunk(4096);

/// When the writes of an operation were posted, by stage.
struct Writes {
  IdealFabric* fabric = nullptr;
  std::map<std::int32_t, std::vector<Seconds>> posted;
};

/// Runs it with barriers or without.
void run(Writes& writes, MatrixKind kind, Timing timing, std::uint64_t seed, bool barrier) {
  const Topology topology = resolve_topology("h800-3x4");
  PatternRequest request;
  request.name = "alltoallv";
  request.size = kChunk * 40;
  request.matrix = kind;
  request.seed = seed;
  const Pattern pattern = make_pattern(request, topology.rank_count());
  CompileOptions compile_options;
  compile_options.chunk_size = kChunk;
  compile_options.forwarding = Forwarding::kBalanced;
  const auto plan = std::make_shared<const Plan>(compile(pattern, topology, compile_options));
  IdealOptions options;
  options.timing = timing;
  options.seed = seed;
  options.slot_size = kChunk;
  options.faults.write_fails = [&writes](Rank, const WriteRequest& write) {
    writes.posted[write.descriptor.stage].push_back(writes.fabric->now());
    return false;
  };
  PipelineOptions pipeline;
  pipeline.barrier = barrier;
  PatternRun run(topology, options, pipeline);
  writes.fabric = &run.fabric();
  run.enqueue(pattern, {plan});
  run.run();
  EXPECT_EQ(run.wrong(), "");
}

TEST(StageBarrier, LetsNoStageBeginBeforeAllWritesOfTheOneBeforeAreDone) {
  const IdealTiming timing;
  // Between the posting of a whole chunk and what its sender sees of its end.
  const Seconds chunk_time =
      kChunk / timing.write_rate + timing.write_latency + timing.acknowledge_latency;
  // Short chunks cross the wire in no time.
  const Seconds least_time = timing.write_latency + timing.acknowledge_latency;
  for (const MatrixKind kind : {MatrixKind::kUniform, MatrixKind::kZipf, MatrixKind::kSparse}) {
    Writes writes;
    run(writes, kind, Timing::kClosedForm, 3, true);
    ASSERT_GE(writes.posted.size(), 2U) << to_string(kind);
    Seconds stage_end(-1.0);
    for (const auto& [stage, times] : writes.posted) {
      EXPECT_GE(*std::ranges::min_element(times), stage_end) << to_string(kind) << ", " << stage;
      stage_end = *std::ranges::max_element(times) +
                  (kind == MatrixKind::kUniform ? chunk_time : least_time);
    }
  }
}

TEST(StageBarrier, HoldsWhateverTheTimes) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Writes writes;
    run(writes, MatrixKind::kRandom, Timing::kAdversarial, seed, true);
    Seconds stage_end(-1.0);
    for (const auto& [stage, times] : writes.posted) {
      EXPECT_GT(*std::ranges::min_element(times), stage_end) << "seed " << seed << ", " << stage;
      stage_end = *std::ranges::max_element(times);
    }
  }
}

TEST(StageBarrier, IsNotThereUnlessAskedFor) {
  Writes writes;
  run(writes, MatrixKind::kZipf, Timing::kClosedForm, 3, false);
  bool mixed = false;
  Seconds last(-1.0);
  for (const auto& [stage, times] : writes.posted) {
    mixed |= *std::ranges::min_element(times) < last;
    last = std::max(last, *std::ranges::max_element(times));
  }
  EXPECT_TRUE(mixed);
}

}  // namespace
}  // namespace hoccl::engine
