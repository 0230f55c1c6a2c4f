#include "sim/machine/compute_unit.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "tests/sim/machine/simulation.h"

namespace hoccl::sim {
namespace {

using engine::Bytes;
using engine::GpuId;
using engine::Seconds;
using namespace engine::literals;

const GpuId kGpu(0);

class ComputeUnitTest : public Simulation {
 protected:
  ComputeUnitTest() {
    contention_.kind = ContentionKind::kLine;
    contention_.sms = 100;
    contention_.forward_slope = 1.0;
    contention_.backward_slope = 2.0;
    contention_.memory_slope = 0.5;
    contention_.memory_rate = 1000_GBps;
    pool_.watch(&units_);
  }

  static std::vector<std::unique_ptr<ComputeUnit>> one(std::unique_ptr<ComputeUnit> unit) {
    std::vector<std::unique_ptr<ComputeUnit>> units;
    units.push_back(std::move(unit));
    return units;
  }
  const ComputeAccount::OfPhase& account(Phase phase) {
    return unit().account().phases[static_cast<std::size_t>(phase)];
  }
  ComputeUnit& unit() { return units_.of(kGpu); }

  SmPool pool_{1};
  SmContention contention_;
  Bytes traffic_;
  ComputeUnits units_{one(std::make_unique<ComputeUnit>(clock_, pool_, kGpu, contention_,
                                                        [this] { return traffic_; }))};
};

TEST_F(ComputeUnitTest, AKernelAloneTakesItsTime) {
  Seconds end{};
  unit().start({.alone = 10_us, .phase = Phase::kForward}, record(end));
  EXPECT_TRUE(unit().is_busy());
  clock_.run();
  EXPECT_TIME(end, 10_us);
  EXPECT_FALSE(unit().is_busy());
  EXPECT_TIME(account(Phase::kForward).active, 10_us);
}

TEST_F(ComputeUnitTest, SmsHeldSlowItDownForAsLongAsTheyAreHeld) {
  Seconds end{};
  unit().start({.alone = 10_us, .phase = Phase::kBackward}, record(end));
  // From 2 to 5 us, 25 SMs: the rate is 1 / 1.5, so 2 us of work are done in those 3.
  clock_.at(2_us, call([&] { pool_.hold(kGpu, 25, TrafficClass::kData); }));
  clock_.at(5_us, call([&] { pool_.release(kGpu, 25, TrafficClass::kData); }));
  clock_.run();
  EXPECT_TIME(end, 11_us);
  EXPECT_TIME(account(Phase::kBackward).active, 11_us);
  EXPECT_TIME(account(Phase::kBackward).alone, 10_us);
  EXPECT_NEAR(account(Phase::kBackward).held[static_cast<std::size_t>(TrafficClass::kData)],
              25 * 3e-6, 1e-15);
}

TEST_F(ComputeUnitTest, SmSecondsAddUpOverAllClassesAndTimes) {
  Seconds end{};
  clock_.at(0_us, call([&] { pool_.hold(kGpu, 4, TrafficClass::kPipeline); }));
  clock_.at(1_us, call([&] { unit().start({.alone = 2_us}, record(end)); }));
  clock_.at(2_us, call([&] { pool_.hold(kGpu, 8, TrafficClass::kData); }));
  clock_.at(20_us, call([&] { pool_.release(kGpu, 8, TrafficClass::kData); }));
  clock_.at(30_us, call([&] { pool_.release(kGpu, 4, TrafficClass::kPipeline); }));
  clock_.run();
  const ComputeAccount& all = unit().account();
  EXPECT_NEAR(all.held_ever[static_cast<std::size_t>(TrafficClass::kPipeline)], 4 * 30e-6, 1e-15);
  EXPECT_NEAR(all.held_ever[static_cast<std::size_t>(TrafficClass::kData)], 8 * 18e-6, 1e-15);
  // While the kernel ran, no more than that.
  const auto& other = account(Phase::kOther);
  EXPECT_NEAR(other.held[static_cast<std::size_t>(TrafficClass::kPipeline)],
              4 * other.active.count(), 1e-15);
  EXPECT_LT(other.held[static_cast<std::size_t>(TrafficClass::kData)], 8 * other.active.count());
}

TEST_F(ComputeUnitTest, BytesThroughTheMemoryDelayTheKernelThatRunsMeanwhile) {
  traffic_ = Bytes(1'000'000);  // before it begins: costs it nothing
  Seconds end{};
  unit().start({.alone = 10_us, .phase = Phase::kForward}, record(end));
  // Half of the 2 us that the memory needs for them.
  clock_.at(4_us, call([&] { traffic_ += Bytes(2'000'000); }));
  clock_.run();
  EXPECT_TIME(end, 11_us);
}

TEST_F(ComputeUnitTest, TrafficOfTheDelayItselfCountsToo) {
  Seconds end{};
  unit().start({.alone = 10_us, .phase = Phase::kForward}, record(end));
  clock_.at(4_us, call([&] { traffic_ += Bytes(2'000'000); }));
  clock_.at(10.5_us, call([&] { traffic_ += Bytes(1'000'000); }));
  clock_.run();
  EXPECT_TIME(end, 11.5_us);
}

TEST_F(ComputeUnitTest, TwoKernelsAtOnceAreRefused) {
  unit().start({.alone = 10_us}, {});
  EXPECT_DEATH(unit().start({.alone = 10_us}, {}), "two compute kernels at once");
}

}  // namespace
}  // namespace hoccl::sim
