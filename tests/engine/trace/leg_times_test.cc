#include "engine/trace/leg_times.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "tests/engine/trace/trace_events.h"

namespace hoccl::engine {
namespace {

constexpr double kRounding = 1e-15;

const LegTime& leg_of(const LegTimes& times, std::string_view name) {
  return times[static_cast<std::size_t>(std::ranges::find(kLegNames, name) - kLegNames.begin())];
}

TEST(LegTimes, CountTheWireOnceAndNothingThatIsNoLeg) {
  std::vector<TraceEvent> events = legs(100_us, 0);
  events.push_back(step(kSource, 100_us, 150_us));
  const LegTimes times = leg_times(events);
  for (const std::string_view name : {"stage_in", "wire", "deliver"}) {
    EXPECT_EQ(leg_of(times, name).count, 1) << name;
    EXPECT_NEAR(leg_of(times, name).busy.count(), 10e-6, kRounding) << name;
  }
  EXPECT_EQ(leg_of(times, "direct").count, 0);
}

TEST(LegTimes, LegsThatOverlapOnOneEngineCountItsTimeOnce) {
  const Track first = copy_engine_track(kSource, {CopyClass::kPeer, 0});
  const Track second = copy_engine_track(kSource, {CopyClass::kPeer, 1});
  const LegTimes times = leg_times(std::vector{chunk_event(0_us, 20_us, first, "direct", 0),
                                               chunk_event(10_us, 30_us, second, "direct", 1),
                                               chunk_event(12_us, 15_us, first, "direct", 2),
                                               chunk_event(50_us, 60_us, first, "direct", 3)});
  EXPECT_EQ(leg_of(times, "direct").count, 4);
  EXPECT_NEAR(leg_of(times, "direct").busy.count(), 40e-6, kRounding);
}

TEST(LegTimes, EnginesAndNicsOfDifferentRanksAddUp) {
  const LegTimes times = leg_times(
      std::vector{chunk_event(0_us, 10_us, copy_engine_track(kSource, kPeerLane), "direct", 0),
                  chunk_event(0_us, 10_us, copy_engine_track(kTarget, kPeerLane), "direct", 1),
                  chunk_event(0_us, 10_us, nic(kSource, TrackKind::kNicSend, 1), "wire", 0),
                  chunk_event(5_us, 15_us, nic(kSource, TrackKind::kNicSend, 2), "wire", 1)});
  EXPECT_NEAR(leg_of(times, "direct").busy.count(), 20e-6, kRounding);
  EXPECT_NEAR(leg_of(times, "wire").busy.count(), 20e-6, kRounding);
}

}  // namespace
}  // namespace hoccl::engine
