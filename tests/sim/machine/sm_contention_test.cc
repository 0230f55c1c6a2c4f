#include "sim/machine/sm_contention.h"

#include <gtest/gtest.h>

#include "engine/base/config_error.h"

namespace hoccl::sim {
namespace {

using engine::Bytes;
using engine::Seconds;
using namespace engine::literals;

SmContention of_kind(ContentionKind kind) {
  return {.kind = kind,
          .sms = 132,
          .forward_slope = 0.85,
          .backward_slope = 0.77,
          .memory_slope = 0.5,
          .memory_rate = 1000_GBps};
}

TEST(SmContention, TheLineIsThePapersAtTenPercent) {
  const SmContention line = of_kind(ContentionKind::kLine);
  // 13.2 SMs are no whole number: twice as many on twice the GPU.
  SmContention twice = line;
  twice.sms = 660;
  EXPECT_DOUBLE_EQ(1.0 / twice.rate(Phase::kForward, 0, 66), 1.085);
  EXPECT_DOUBLE_EQ(1.0 / twice.rate(Phase::kBackward, 0, 66), 1.077);
  EXPECT_EQ(line.rate(Phase::kForward, 0, 0), 1.0);
}

TEST(SmContention, WavesCountWhatTheTilesNeed) {
  const SmContention waves = of_kind(ContentionKind::kWaves);
  // 132 tiles are one wave; with any SM held they are two.
  EXPECT_EQ(waves.rate(Phase::kForward, 132, 1), 0.5);
  // 264 tiles on 132 SMs: two waves; on 88 SMs: three.
  EXPECT_DOUBLE_EQ(waves.rate(Phase::kForward, 264, 44), 2.0 / 3.0);
  // 140 tiles are two waves either way.
  EXPECT_EQ(waves.rate(Phase::kForward, 140, 16), 1.0);
  // All SMs held leave one.
  EXPECT_DOUBLE_EQ(waves.rate(Phase::kForward, 132, 132), 1.0 / 132.0);
}

TEST(SmContention, WithoutTilesWavesFallBackToTheLine) {
  EXPECT_EQ(of_kind(ContentionKind::kWaves).rate(Phase::kForward, 0, 16),
            of_kind(ContentionKind::kLine).rate(Phase::kForward, 0, 16));
}

TEST(SmContention, MoreSmsHeldNeverMakeAKernelFaster) {
  for (const auto kind : {ContentionKind::kNone, ContentionKind::kLine, ContentionKind::kWaves}) {
    const SmContention contention = of_kind(kind);
    for (const std::int64_t tiles : {0, 1, 131, 132, 133, 1000, 4096}) {
      double last = 1.0;
      for (int held = 0; held <= 132; ++held) {
        const double rate = contention.rate(Phase::kBackward, tiles, held);
        EXPECT_LE(rate, last);
        EXPECT_GT(rate, 0.0);
        last = rate;
      }
    }
  }
}

TEST(SmContention, TrafficCostsItsShareOfTheMemorysTime) {
  EXPECT_EQ(of_kind(ContentionKind::kLine).delay(Bytes(2'000'000'000)), Seconds(1e-3));
  EXPECT_EQ(of_kind(ContentionKind::kNone).delay(Bytes(2'000'000'000)), Seconds(0.0));
}

TEST(SmContention, KindsHaveNames) {
  EXPECT_EQ(parse_contention_kind("waves"), ContentionKind::kWaves);
  EXPECT_THROW(parse_contention_kind("wave"), engine::ConfigError);
}

}  // namespace
}  // namespace hoccl::sim
