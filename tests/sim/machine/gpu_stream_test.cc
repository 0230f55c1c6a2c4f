#include "sim/machine/gpu_stream.h"

#include <gtest/gtest.h>

#include "sim/machine/cpu.h"
#include "tests/sim/machine/simulation.h"

namespace hoccl::sim {
namespace {

using engine::Seconds;
using namespace engine::literals;

class GpuStreamTest : public Simulation {
 protected:
  GpuStream stream_{clock_};
  MemoryWord word_;
};

TEST_F(GpuStreamTest, KernelsRunOneAfterTheOther) {
  Seconds first{};
  Seconds second{};
  stream_.enqueue_kernel(10_us, record(first));
  stream_.enqueue_kernel(5_us, record(second));
  EXPECT_FALSE(stream_.is_idle());
  clock_.run();
  EXPECT_TIME(first, 10_us);
  EXPECT_TIME(second, 15_us);
  EXPECT_TRUE(stream_.is_idle());
}

TEST_F(GpuStreamTest, ASignalIsSeenItsLatencyLaterAndDoesNotHoldTheStream) {
  Seconds signal{};
  Seconds kernel{};
  stream_.enqueue_kernel(10_us);
  stream_.enqueue_signal(record(signal), 2_us);
  stream_.enqueue_kernel(1_us, record(kernel));
  clock_.run();
  EXPECT_TIME(signal, 12_us);
  EXPECT_TIME(kernel, 11_us);
}

TEST_F(GpuStreamTest, AWaitHoldsTheStreamUntilTheValueIsReached) {
  Seconds end{};
  stream_.enqueue_wait(word_, 3, 0.5_us);
  stream_.enqueue_kernel(1_us, record(end));
  for (std::uint64_t value = 1; value <= 4; ++value) {
    clock_.at(static_cast<double>(value) * 10_us, call([&, value] { word_.store(value); }));
  }
  clock_.run();
  EXPECT_TIME(end, 30_us + 0.5_us + 1_us);
}

TEST_F(GpuStreamTest, AWaitForAValueThatIsThereCostsTheWakeLatency) {
  Seconds end{};
  word_.store(7);
  stream_.enqueue_wait(word_, 7, 0.5_us);
  stream_.enqueue_signal(record(end));
  clock_.run();
  EXPECT_TIME(end, 0.5_us);
}

TEST_F(GpuStreamTest, OneStoreWakesEveryStreamThatItSatisfiesAndNoOther) {
  GpuStream other{clock_};
  GpuStream patient{clock_};
  Seconds first{};
  Seconds second{};
  Seconds third{};
  stream_.enqueue_wait(word_, 1, 1_us);
  stream_.enqueue_signal(record(first));
  other.enqueue_wait(word_, 2, 1_us);
  other.enqueue_signal(record(second));
  patient.enqueue_wait(word_, 3, 1_us);
  patient.enqueue_signal(record(third));
  clock_.at(5_us, call([&] { word_.store(2); }));
  clock_.run();
  EXPECT_TIME(first, 6_us);
  EXPECT_TIME(second, 6_us);
  EXPECT_EQ(third, Seconds(0.0));
  EXPECT_FALSE(patient.is_idle());
}

TEST_F(GpuStreamTest, ExternalWorkHoldsTheStreamUntilReleased) {
  Seconds begin{};
  Seconds end{};
  stream_.enqueue_kernel(4_us);
  stream_.enqueue_external(call([&] {
    begin = clock_.now();
    clock_.after(9_us, call([&] { stream_.release(); }));
  }));
  stream_.enqueue_external(call([&] { stream_.release(); }));  // nothing to do
  stream_.enqueue_signal(record(end));
  clock_.run();
  EXPECT_TIME(begin, 4_us);
  EXPECT_TIME(end, 13_us);
}

TEST_F(GpuStreamTest, AKernelsCallbackMayEnqueueMore) {
  Seconds end{};
  stream_.enqueue_kernel(1_us, call([&] { stream_.enqueue_kernel(2_us, record(end)); }));
  clock_.run();
  EXPECT_TIME(end, 3_us);
}

using CpuClockTest = Simulation;

TEST_F(CpuClockTest, WorkIsDoneInOrderAndNotBeforeThePresent) {
  CpuClock cpu(clock_);
  EXPECT_TIME(cpu.advance(2_us), 2_us);
  EXPECT_TIME(cpu.advance(3_us), 5_us);
  EXPECT_TRUE(cpu.is_busy());
  clock_.at(20_us, call([&] {
              EXPECT_FALSE(cpu.is_busy());
              EXPECT_TIME(cpu.free_at(), 20_us);
              EXPECT_TIME(cpu.advance(1_us), 21_us);
            }));
  clock_.run();
  EXPECT_TIME(cpu.busy_time(), 6_us);
}

}  // namespace
}  // namespace hoccl::sim
