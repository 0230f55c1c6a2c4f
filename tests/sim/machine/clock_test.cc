#include "sim/machine/clock.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/sim/machine/simulation.h"

namespace hoccl::sim {
namespace {

using engine::Seconds;
using namespace engine::literals;

class ClockTest : public Simulation {
 protected:
  Callback note(int number) {
    return call([this, number] { noted_.push_back(number); });
  }
  std::vector<int> noted_;
};

TEST_F(ClockTest, DeliversEventsInOrderOfTimeThenOfScheduling) {
  clock_.at(3_us, note(3));
  clock_.at(1_us, note(1));
  clock_.at(2_us, note(21));
  clock_.at(2_us, note(22));
  clock_.run();
  EXPECT_EQ(noted_, (std::vector{1, 21, 22, 3}));
  EXPECT_EQ(clock_.now(), 3_us);
}

TEST_F(ClockTest, TimesThatDifferByRoundingOnlyAreOneInstant) {
  // 0.1 + 0.2 > 0.3 in doubles; what was scheduled first comes first.
  ASSERT_GT(0.1 + 0.2, 0.3);
  clock_.at(Seconds(0.1 + 0.2), note(1));
  clock_.at(Seconds(0.3), note(2));
  clock_.run();
  EXPECT_EQ(noted_, (std::vector{1, 2}));
}

TEST_F(ClockTest, TimesThatDifferByAPicosecondAreNotOneInstant) {
  clock_.at(Seconds(1e-3 + 1e-12), note(2));
  clock_.at(Seconds(1e-3), note(1));
  clock_.run();
  EXPECT_EQ(noted_, (std::vector{1, 2}));
}

TEST_F(ClockTest, TimeIsExactlyWhatWasAskedFor) {
  std::vector<double> seen;
  std::vector<double> asked;
  for (int i = 1; i <= 1000; ++i) {
    asked.push_back(i * 0.1e-6 + 1e-9 / i);
    clock_.at(Seconds(asked.back()), call([&] { seen.push_back(clock_.now().count()); }));
  }
  clock_.run();
  EXPECT_EQ(seen, asked);
}

TEST_F(ClockTest, EventsMayScheduleAndCancelOthers) {
  const EventId late = clock_.at(5_us, note(5));
  const EventId same_instant = clock_.at(2_us, note(-1));
  clock_.at(1_us, call([&] {
              EXPECT_TRUE(clock_.cancel(late));
              clock_.after(Seconds(0.0), note(1));
              clock_.after(1_us, note(2));
            }));
  clock_.at(1_us, call([&] { EXPECT_TRUE(clock_.cancel(same_instant)); }));
  clock_.run();
  EXPECT_EQ(noted_, (std::vector{1, 2}));
  EXPECT_EQ(clock_.now(), 2_us);
  EXPECT_FALSE(clock_.cancel(late));
}

TEST_F(ClockTest, AnEventCancelledAtItsOwnInstantIsNotDelivered) {
  EventId second;
  clock_.at(1_us, call([&] { EXPECT_TRUE(clock_.cancel(second)); }));
  second = clock_.at(1_us, note(2));
  clock_.run();
  EXPECT_TRUE(noted_.empty());
}

TEST_F(ClockTest, RunUntilDeliversUpToAndIncludingThatTime) {
  clock_.at(1_us, note(1));
  clock_.at(2_us, note(2));
  clock_.at(3_us, note(3));
  clock_.run_until(2_us);
  EXPECT_EQ(noted_, (std::vector{1, 2}));
  EXPECT_EQ(clock_.now(), 2_us);
  clock_.run_until(2.5_us);
  EXPECT_EQ(noted_.size(), 2U);
  EXPECT_EQ(clock_.now(), 2.5_us);
  clock_.after(0.25_us, note(275));
  clock_.run();
  EXPECT_EQ(noted_, (std::vector{1, 2, 275, 3}));
}

TEST_F(ClockTest, RunMayBeCalledAgain) {
  clock_.after(1_us, note(1));
  clock_.run();
  clock_.after(1_us, note(2));
  clock_.run();
  EXPECT_EQ(noted_, (std::vector{1, 2}));
  EXPECT_DOUBLE_EQ(clock_.now().count(), 2e-6);
}

using ClockDeathTest = ClockTest;

TEST_F(ClockDeathTest, RefusesThePastAndNegativeDelays) {
  clock_.after(1_us, note(1));
  clock_.run();
  EXPECT_DEATH(clock_.at(0.5_us, note(2)), "event at");
  EXPECT_DEATH(clock_.after(Seconds(-1e-9), note(2)), "delay of");
}

}  // namespace
}  // namespace hoccl::sim
