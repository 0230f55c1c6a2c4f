#include "sim/machine/driver_lock.h"

#include <gtest/gtest.h>

#include "sim/machine/callback.h"

namespace hoccl::sim {
namespace {

using engine::Seconds;

TEST(DriverLock, CallsOfOneInstantTakeTurns) {
  Clock clock;
  DriverLock lock(clock);
  EXPECT_EQ(lock.take(Seconds(1.0), Seconds(2.0)), Seconds(1.0));
  EXPECT_EQ(lock.take(Seconds(1.0), Seconds(2.0)), Seconds(3.0));
  EXPECT_EQ(lock.take(Seconds(2.0), Seconds(2.0)), Seconds(5.0));
}

// A thread that is simulated ahead of the others must not keep them out before its turn.
TEST(DriverLock, AnEarlierCallThatFitsIsNotHeldUpByALaterOne) {
  Clock clock;
  DriverLock lock(clock);
  EXPECT_EQ(lock.take(Seconds(10.0), Seconds(2.0)), Seconds(10.0));
  EXPECT_EQ(lock.take(Seconds(7.0), Seconds(3.0)), Seconds(7.0));
  EXPECT_EQ(lock.take(Seconds(6.5), Seconds(1.0)), Seconds(12.0)) << "half a second is too little";
  EXPECT_EQ(lock.take(Seconds(5.0), Seconds(2.0)), Seconds(5.0));
}

TEST(DriverLock, ForgetsTurnsThatHaveEnded) {
  Clock clock;
  DriverLock lock(clock);
  EXPECT_EQ(lock.take(Seconds(1.0), Seconds(2.0)), Seconds(1.0));
  clock.at(Seconds(4.0), Callback());
  clock.run();
  EXPECT_EQ(lock.take(clock.now(), Seconds(1.0)), Seconds(4.0));
}

}  // namespace
}  // namespace hoccl::sim
