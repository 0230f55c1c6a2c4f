#include "sim/machine/copy_engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <vector>

#include "tests/sim/machine/simulation.h"

namespace hoccl::sim {
namespace {

using engine::Bytes;
using engine::BytesPerSecond;
using engine::Seconds;
using namespace engine::literals;

/// One engine on one 200 GB/s path. The constants are round and distinct, so that a missing or
/// doubled one shows.
class CopyEngineTest : public EitherNetwork, public CopyObserver {
 protected:
  void build(CopyEngineParameters parameters) {
    parameters_ = parameters;
    path_ = route({link(kRate)});
    engine_ = std::make_unique<CopyEngine>(clock_, *network_, parameters);
    engine_->set_observer(this);
  }
  Copy copy(Bytes size, Seconds& end) { return {path_, size, record(end), next_tag_++}; }
  void submit(LaneId lane, const std::vector<Copy>& batch) { engine_->submit(lane, batch); }
  void copied(const CopyInterval& interval) override { intervals_.push_back(interval); }

  static constexpr BytesPerSecond kRate = 200_GBps;
  static constexpr Bytes kSize = 2_MiB;
  static constexpr Seconds kTransfer = kSize / kRate;
  static constexpr CopyEngineParameters kTypical{.launch_latency = 3_us,
                                                 .setup = 2_us,
                                                 .setup_in_batch = 0.25_us,
                                                 .setup_overlap = 0.0,
                                                 .concurrency = 1,
                                                 .completion_latency = 1.5_us};

  CopyEngineParameters parameters_;
  RouteId path_;
  std::unique_ptr<CopyEngine> engine_;
  std::vector<CopyInterval> intervals_;
  std::uint64_t next_tag_ = 0;
};
HOCCL_ON_BOTH_NETWORKS(CopyEngineTest);

TEST_P(CopyEngineTest, ALoneCopyPaysEveryLatencyOnce) {
  build(kTypical);
  Seconds end{};
  const LaneId lane = engine_->add_lane();
  clock_.at(10_us, call([&] { submit(lane, {copy(kSize, end)}); }));
  clock_.run();
  const Seconds transfer_end = 10_us + 3_us + 2_us + kTransfer;
  EXPECT_TIME(end, transfer_end + 1.5_us);
  ASSERT_EQ(intervals_.size(), 1U);
  EXPECT_TIME(intervals_[0].begin, 10_us + 3_us);
  EXPECT_TIME(intervals_[0].end, transfer_end);
  EXPECT_EQ(intervals_[0].size, kSize);
  EXPECT_TIME(engine_->busy_time(), 2_us + kTransfer);
  EXPECT_EQ(engine_->pending_count(), 0U);
}

TEST_P(CopyEngineTest, LaunchAndCompletionLatencyAreHiddenBehindOtherCopies) {
  build(kTypical);
  constexpr std::size_t kCopies = 16;
  std::array<Seconds, kCopies> ends{};
  const LaneId lane = engine_->add_lane();
  for (Seconds& end : ends) submit(lane, {copy(kSize, end)});
  EXPECT_EQ(engine_->pending_count(), kCopies);
  clock_.run();
  for (std::size_t i = 0; i < kCopies; ++i) {
    EXPECT_TIME(ends[i], 3_us + static_cast<double>(i + 1) * (2_us + kTransfer) + 1.5_us);
  }
}

TEST_P(CopyEngineTest, ASerialEngineServesLanesInOrderOfArrival) {
  build(kTypical);
  const LaneId a = engine_->add_lane();
  const LaneId b = engine_->add_lane();
  std::array<Seconds, 4> ends{};
  submit(a, {copy(kSize, ends[0])});
  clock_.at(0.1_us, call([&] { submit(b, {copy(kSize, ends[1])}); }));
  clock_.at(0.2_us, call([&] { submit(a, {copy(kSize, ends[2])}); }));
  clock_.at(0.3_us, call([&] { submit(b, {copy(kSize, ends[3])}); }));
  clock_.run();
  for (std::size_t i = 0; i < ends.size(); ++i) {
    EXPECT_TIME(ends[i], 3_us + static_cast<double>(i + 1) * (2_us + kTransfer) + 1.5_us);
  }
}

/// Two servers and two busy lanes: two setups run at once and two copies share the path, so rounds
/// of setup + 2 * transfer.
TEST_P(CopyEngineTest, ConcurrentLanesShareThePath) {
  CopyEngineParameters parameters = kTypical;
  parameters.concurrency = 2;
  build(parameters);
  constexpr std::size_t kRounds = 5;
  const LaneId lanes[] = {engine_->add_lane(), engine_->add_lane()};
  std::array<std::array<Seconds, kRounds>, 2> ends{};
  for (std::size_t lane = 0; lane < 2; ++lane) {
    for (Seconds& end : ends[lane]) submit(lanes[lane], {copy(kSize, end)});
  }
  clock_.run();
  for (std::size_t round = 0; round < kRounds; ++round) {
    const Seconds expected =
        3_us + static_cast<double>(round + 1) * (2_us + 2.0 * kTransfer) + 1.5_us;
    EXPECT_TIME(ends[0][round], expected);
    EXPECT_TIME(ends[1][round], expected);
  }
}

/// Six lanes, one copy each, four servers: four share the path, then the other two do.
TEST_P(CopyEngineTest, NoMoreLanesThanTheConcurrencyAreServedAtOnce) {
  CopyEngineParameters parameters = kTypical;
  parameters.concurrency = 4;
  build(parameters);
  std::array<Seconds, 6> ends{};
  for (Seconds& end : ends) submit(engine_->add_lane(), {copy(kSize, end)});
  clock_.run();
  const Seconds first = 3_us + 2_us + 4.0 * kTransfer;
  for (std::size_t i = 0; i < 4; ++i) EXPECT_TIME(ends[i], first + 1.5_us);
  for (std::size_t i = 4; i < 6; ++i) EXPECT_TIME(ends[i], first + 2_us + 2.0 * kTransfer + 1.5_us);
}

TEST_P(CopyEngineTest, OneLaneIsSerialWhateverTheConcurrency) {
  CopyEngineParameters parameters = kTypical;
  parameters.concurrency = 4;
  build(parameters);
  const LaneId lane = engine_->add_lane();
  std::array<Seconds, 3> ends{};
  for (Seconds& end : ends) submit(lane, {copy(kSize, end)});
  clock_.run();
  for (std::size_t i = 0; i < ends.size(); ++i) {
    EXPECT_TIME(ends[i], 3_us + static_cast<double>(i + 1) * (2_us + kTransfer) + 1.5_us);
  }
}

TEST_P(CopyEngineTest, ABatchPaysTheFullSetupOnceAndCompletesAsOne) {
  build(kTypical);
  constexpr std::size_t kCopies = 8;
  const LaneId lane = engine_->add_lane();
  std::array<Seconds, kCopies> ends{};
  std::vector<Copy> batch;
  for (Seconds& end : ends) batch.push_back(copy(kSize, end));
  Seconds after_batch{};
  submit(lane, batch);
  submit(lane, {copy(kSize, after_batch)});
  clock_.run();
  const Seconds batch_end =
      3_us + 2_us + static_cast<double>(kCopies - 1) * 0.25_us + kCopies * kSize / kRate;
  for (const Seconds end : ends) EXPECT_TIME(end, batch_end + 1.5_us);
  EXPECT_TIME(after_batch, batch_end + 2_us + kTransfer + 1.5_us);
}

/// Half of each setup after the first is done while the previous copy transfers.
TEST_P(CopyEngineTest, AnOverlappedSetupIsPartlyHidden) {
  CopyEngineParameters parameters = kTypical;
  parameters.setup_overlap = 0.5;
  build(parameters);
  const LaneId lane = engine_->add_lane();
  constexpr std::size_t kCopies = 5;
  std::array<Seconds, kCopies> ends{};
  for (Seconds& end : ends) submit(lane, {copy(kSize, end)});
  clock_.run();
  for (std::size_t i = 0; i < kCopies; ++i) {
    EXPECT_TIME(ends[i], 3_us + 2_us + kTransfer +
                             static_cast<double>(i) * (0.5 * 2_us + kTransfer) + 1.5_us);
  }
  for (std::size_t i = 1; i < kCopies; ++i) EXPECT_GE(intervals_[i].begin, intervals_[i - 1].end);
}

/// Fully overlapped, a setup longer than the previous transfer still delays its copy: a setup
/// begins at the earliest when the previous transfer begins.
TEST_P(CopyEngineTest, AnOverlappedSetupIsNotShorterThanItself) {
  CopyEngineParameters parameters = kTypical;
  parameters.setup_overlap = 1.0;
  build(parameters);
  const Bytes small(10000);
  const Seconds transfer = small / kRate;
  ASSERT_LT(transfer, 2_us);
  const LaneId lane = engine_->add_lane();
  std::array<Seconds, 3> ends{};
  for (Seconds& end : ends) submit(lane, {copy(small, end)});
  clock_.run();
  for (std::size_t i = 0; i < ends.size(); ++i) {
    EXPECT_TIME(ends[i], 3_us + static_cast<double>(i + 1) * 2_us + transfer + 1.5_us);
  }
}

/// A copy that becomes ready while the engine transfers overlaps only from then on.
TEST_P(CopyEngineTest, AnOverlapBeginsWhenTheCopyIsReady) {
  CopyEngineParameters parameters = kTypical;
  parameters.setup_overlap = 1.0;
  build(parameters);
  const LaneId lane = engine_->add_lane();
  Seconds first{};
  Seconds second{};
  submit(lane, {copy(kSize, first)});
  const Seconds first_end = 3_us + 2_us + kTransfer;
  const Seconds ready = first_end - 0.5_us;
  clock_.at(ready - 3_us, call([&] { submit(lane, {copy(kSize, second)}); }));
  clock_.run();
  EXPECT_TIME(first, first_end + 1.5_us);
  EXPECT_TIME(second, ready + 2_us + kTransfer + 1.5_us);
}

/// Lane b's second copy stays on the server of its first, whose transfer hides half its setup,
/// although lane a's server has long been free.
TEST_P(CopyEngineTest, ALaneKeepsItsServerSoThatASetupIsNeverFree) {
  CopyEngineParameters parameters = kTypical;
  parameters.concurrency = 2;
  parameters.setup_overlap = 0.5;
  build(parameters);
  const LaneId a = engine_->add_lane();
  const LaneId b = engine_->add_lane();
  Seconds short_end{};
  std::array<Seconds, 2> ends{};
  submit(a, {copy(Bytes(1000), short_end)});
  for (Seconds& end : ends) submit(b, {copy(kSize, end)});
  clock_.run();
  const Seconds first_transfer_end =
      3_us + 2_us + (kSize + Bytes(1000)) / kRate;  // shared at first
  EXPECT_TIME(ends[0], first_transfer_end + 1.5_us);
  EXPECT_TIME(ends[1], first_transfer_end + 0.5 * 2_us + kTransfer + 1.5_us);
}

TEST_P(CopyEngineTest, TwoEnginesIntoOneGpuShareItsPort) {
  const LinkId out_a = link(kRate);
  const LinkId out_b = link(kRate);
  const LinkId in = link(kRate);
  CopyEngine a(clock_, *network_, kTypical);
  CopyEngine b(clock_, *network_, kTypical);
  const RouteId from_a = route({out_a, in});
  const RouteId from_b = route({out_b, in});
  std::array<Seconds, 2> ends{};
  a.submit(a.add_lane(), std::vector<Copy>{{from_a, kSize, record(ends[0])}});
  b.submit(b.add_lane(), std::vector<Copy>{{from_b, kSize, record(ends[1])}});
  clock_.run();
  for (const Seconds end : ends) EXPECT_TIME(end, 3_us + 2_us + 2.0 * kTransfer + 1.5_us);
}

TEST_P(CopyEngineTest, CopiesMayBeSubmittedFromACompletion) {
  build(kTypical);
  const LaneId lane = engine_->add_lane();
  std::vector<Seconds> ends;
  std::function<void()> again;
  const Callback done = call([&] { again(); });
  again = [&] {
    ends.push_back(clock_.now());
    if (ends.size() < 100) submit(lane, {{path_, kSize, done}});
  };
  submit(lane, {{path_, kSize, done}});
  clock_.run();
  ASSERT_EQ(ends.size(), 100U);
  EXPECT_TIME(ends.back(), 100.0 * (3_us + 2_us + kTransfer + 1.5_us));
}

}  // namespace
}  // namespace hoccl::sim
