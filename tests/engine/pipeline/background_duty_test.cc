// Background transfers beside foreground work that comes and goes, with real proxies.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "tests/support/byte_pattern.h"
#include "tests/support/ideal_fabric.h"
#include "tests/support/job.h"

namespace hoccl::engine {
namespace {

using namespace literals;

constexpr Bytes kChunk = 4_KiB;
constexpr int kChunks = 32;
constexpr Bytes kMessage = kChunk * kChunks;
const Rank kSource(0);

struct Duty {
  const char* name;
  int target;  ///< of rank 0: 1 in its node, 4 in the other
  Seconds period;
  Timing timing;
};

class BackgroundDuty : public testing::TestWithParam<Duty> {
 protected:
  static constexpr double kActive = 0.8;

  BackgroundDuty()
      : fabric_(resolve_topology("h800-2x4"), options()),
        job_(fabric_, fabric_.topology().rank_count(), PipelineOptions(), compile_options()) {}

  static IdealOptions options() {
    IdealOptions result;
    result.timing = GetParam().timing;
    result.slot_size = kChunk;
    return result;
  }
  static CompileOptions compile_options() { return {.chunk_size = kChunk, .rails = 1}; }

  /// Foreground work on both GPUs for longer than the background may need.
  void enqueue_foreground(Seconds length) {
    for (Seconds time(0.0); time < length; time += GetParam().period) {
      for (const Rank rank : {kSource, Rank(GetParam().target)}) {
        fabric_.port(rank).enqueue_foreground(StreamId(1), true);
        fabric_.enqueue_delay(rank, StreamId(1), GetParam().period * kActive);
        fabric_.port(rank).enqueue_foreground(StreamId(1), false);
        fabric_.enqueue_delay(rank, StreamId(1), GetParam().period * (1.0 - kActive));
      }
    }
  }

  /// Returns when the target's stream went on.
  Seconds run_background() {
    const Rank target(GetParam().target);
    Plan plan = compile(make_pattern({"sendrecv", kSource, target, kMessage}, job_.rank_count()),
                        fabric_.topology(), compile_options());
    for (Transfer& transfer : plan.transfers) transfer.flow_class = FlowClass::kBackground;
    const auto shared = std::make_shared<const Plan>(plan);
    const Region from{fabric_.allocate(kSource, kMessage), Bytes(0), kMessage};
    const Region to{fabric_.allocate(target, kMessage), Bytes(0), kMessage};
    fill_pattern(fabric_.bytes(from), 3);
    Seconds end(0.0);
    const auto sent = job_.communicator(kSource).run(shared, from, {}, StreamId(0));
    const auto received = job_.communicator(target).run(shared, {}, to, StreamId(0));
    fabric_.enqueue_callback(target, StreamId(0), [&] { end = fabric_.now(); });
    EXPECT_EQ(fabric_.run(job_.proxies()), RunEnd::kIdle);
    for (const auto& work : {sent, received}) {
      EXPECT_TRUE(work->status().has_value() && work->status()->ok());
    }
    EXPECT_FALSE(first_difference(fabric_.bytes(to), 3).has_value());
    EXPECT_TRUE(job_.quiescent());
    return end;
  }

  IdealFabric fabric_;
  Job job_;
};

TEST_P(BackgroundDuty, Of80PercentDoesNotStarveBackground) {
  // A chunk leaves its source and its target in every pause of the foreground, if that is long
  // enough to be seen, and else whenever patience ends.
  const Seconds patience = PipelineOptions().background_patience;
  const bool seen = GetParam().timing == Timing::kClosedForm;
  const Seconds per_chunk = seen ? std::min(GetParam().period, patience) : patience;
  const Seconds longest = per_chunk * (2 * kChunks);
  enqueue_foreground(longest);
  EXPECT_LE(run_background(), longest);
}

std::string duty_name(const testing::TestParamInfo<Duty>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Periods, BackgroundDuty,
                         testing::Values(Duty{"Direct20us", 1, 20_us, Timing::kClosedForm},
                                         Duty{"Direct1ms", 1, 1_ms, Timing::kClosedForm},
                                         Duty{"Direct100ms", 1, 100_ms, Timing::kClosedForm},
                                         Duty{"Staged20us", 4, 20_us, Timing::kClosedForm},
                                         Duty{"Staged1ms", 4, 1_ms, Timing::kClosedForm},
                                         Duty{"Staged100ms", 4, 100_ms, Timing::kClosedForm},
                                         Duty{"DirectAdversarial", 1, 1_ms, Timing::kAdversarial},
                                         Duty{"StagedAdversarial", 4, 1_ms, Timing::kAdversarial}),
                         duty_name);

}  // namespace
}  // namespace hoccl::engine
