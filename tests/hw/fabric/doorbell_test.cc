#include "hw/system/doorbell.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <new>
#include <thread>

#include "hw/system/monotonic_clock.h"
#include "hw/system/shared_memory.h"

namespace hoccl::hw {
namespace {

using engine::Seconds;

TEST(Doorbell, ReturnsAtOnceWhenItHasRungMeanwhile) {
  Doorbell doorbell;
  const std::uint32_t seen = doorbell.rings();
  doorbell.ring();
  doorbell.wait(seen, std::nullopt);
  EXPECT_NE(doorbell.rings(), seen);
}

TEST(Doorbell, GivesUpAfterTheTimeout) {
  Doorbell doorbell;
  const Seconds begin = monotonic_now();
  doorbell.wait(doorbell.rings(), Seconds(0.02));
  EXPECT_GE(monotonic_now() - begin, Seconds(0.019));
}

TEST(Doorbell, APastDeadlineDoesNotSleep) {
  Doorbell doorbell;
  doorbell.wait(doorbell.rings(), Seconds(-1.0));
  doorbell.wait(doorbell.rings(), Seconds(0.0));
}

/// No ring is lost, whatever the moment: each side goes on only when the other has rung.
TEST(Doorbell, WakesASleeperEveryTime) {
  Doorbell ping;
  Doorbell pong;
  constexpr std::uint32_t kRounds = 20000;
  std::thread other([&] {
    for (std::uint32_t round = 0; round < kRounds; ++round) {
      while (ping.rings() == round) ping.wait(round, Seconds(10.0));
      pong.ring();
    }
  });
  const Seconds begin = monotonic_now();
  for (std::uint32_t round = 0; round < kRounds; ++round) {
    ping.ring();
    while (pong.rings() == round) pong.wait(round, Seconds(10.0));
  }
  other.join();
  EXPECT_LT(monotonic_now() - begin, Seconds(10.0)) << "somebody slept through a ring";
}

TEST(Doorbell, WakesAnotherProcess) {
  const SharedMemory memory = SharedMemory::create("doorbell", engine::Bytes(sizeof(Doorbell)));
  auto* doorbell = new (memory.data()) Doorbell;
  const pid_t child = ::fork();
  if (child == 0) {
    doorbell->wait(0, Seconds(10.0));
    ::_exit(doorbell->rings() == 1 ? 0 : 1);
  }
  doorbell->ring();
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace hoccl::hw
