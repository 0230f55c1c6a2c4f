#include "sim/machine/queue_pair.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "tests/sim/machine/simulation.h"

namespace hoccl::sim {
namespace {

using engine::Bytes;
using engine::BytesPerSecond;
using engine::Seconds;
using namespace engine::literals;

class QueuePairTest : public EitherNetwork, public WriteObserver, public WriteFaults {
 protected:
  struct Times {
    Seconds arrived{};
    Seconds completed{};
    Seconds failed{};
  };

  void SetUp() override {
    EitherNetwork::SetUp();
    path_ = route({link(kRate)});
    pair_ = std::make_unique<QueuePair>(clock_, *network_, kParameters);
    pair_->set_observer(this);
    pair_->set_faults(this);
  }
  Write write(Times& times, std::uint64_t tag = 0) {
    return {path_, kSize, record(times.arrived), record(times.completed), record(times.failed),
            tag};
  }
  void written(const WriteInterval& interval) override { intervals_.push_back(interval); }
  bool should_fail(const Write& write) override { return write.tag == failing_tag_; }

  static constexpr BytesPerSecond kRate = 50_GBps;
  static constexpr Bytes kSize = 512_KiB;
  static constexpr Seconds kTransfer = kSize / kRate;
  static constexpr QueuePairParameters kParameters{.message_overhead = 0.3_us,
                                                   .one_way_latency = 2_us,
                                                   .completion_latency = 1.7_us,
                                                   .error_latency = 500_us};

  RouteId path_;
  std::unique_ptr<QueuePair> pair_;
  std::vector<WriteInterval> intervals_;
  std::uint64_t failing_tag_ = 999;
};
HOCCL_ON_BOTH_NETWORKS(QueuePairTest);

TEST_P(QueuePairTest, LatenciesArePipelinedBehindOverheadAndTransfer) {
  constexpr std::size_t kWrites = 10;
  std::array<Times, kWrites> times{};
  for (Times& one : times) pair_->post(write(one));
  EXPECT_EQ(pair_->pending_count(), kWrites);
  clock_.run();
  for (std::size_t i = 0; i < kWrites; ++i) {
    const Seconds left = static_cast<double>(i + 1) * (0.3_us + kTransfer);
    EXPECT_TIME(times[i].arrived, left + 2_us);
    EXPECT_TIME(times[i].completed, left + 2_us + 1.7_us);
    EXPECT_EQ(times[i].failed, Seconds(0.0));
    EXPECT_TIME(intervals_[i].end, left);
    EXPECT_FALSE(intervals_[i].failed);
  }
  EXPECT_TIME(pair_->busy_time(), kWrites * (0.3_us + kTransfer));
  EXPECT_EQ(pair_->pending_count(), 0U);
}

/// Two queue pairs on one NIC port overlap their overheads but share the wire.
TEST_P(QueuePairTest, TwoQueuePairsShareThePort) {
  QueuePair other(clock_, *network_, kParameters);
  std::array<Times, 2> times{};
  pair_->post(write(times[0]));
  other.post(write(times[1]));
  clock_.run();
  for (const Times& one : times) EXPECT_TIME(one.arrived, 0.3_us + 2.0 * kTransfer + 2_us);
}

TEST_P(QueuePairTest, AnEmptyWriteArrivesAfterOverheadAndLatency) {
  Times times;
  Write empty = write(times);
  empty.size = 0_B;
  pair_->post(empty);
  clock_.run();
  EXPECT_TIME(times.arrived, 0.3_us + 2_us);
}

TEST_P(QueuePairTest, AFailingWriteDoesNotArriveAndTakesTheOnesBehindItAlong) {
  failing_tag_ = 2;
  std::array<Times, 4> times{};
  for (std::size_t i = 0; i < times.size(); ++i) pair_->post(write(times[i], i));
  clock_.run();
  const Seconds first_two = 2.0 * (0.3_us + kTransfer);
  EXPECT_TIME(times[1].completed, first_two + 3.7_us);
  for (std::size_t i = 2; i < 4; ++i) {
    EXPECT_EQ(times[i].arrived, Seconds(0.0));
    EXPECT_EQ(times[i].completed, Seconds(0.0));
    EXPECT_TIME(times[i].failed, first_two + 500_us);
  }
  EXPECT_TRUE(pair_->in_error());
  ASSERT_EQ(intervals_.size(), 3U);  // the flushed one was never begun
  EXPECT_TRUE(intervals_[2].failed);
}

TEST_P(QueuePairTest, InErrorEveryWriteFailsUntilReset) {
  failing_tag_ = 0;
  Times failing;
  Times later;
  Times after_reset;
  pair_->post(write(failing, 0));
  clock_.at(600_us, call([&] { pair_->post(write(later, 1)); }));
  clock_.at(700_us, call([&] {
              pair_->reset();
              pair_->post(write(after_reset, 2));
            }));
  clock_.run();
  EXPECT_TIME(failing.failed, 500_us);
  EXPECT_TIME(later.failed, 600_us);
  EXPECT_TIME(after_reset.arrived, 700_us + 0.3_us + kTransfer + 2_us);
}

/// The connection breaks in the middle of the second write: the first one, whose bytes have left,
/// still completes, and only then do the others fail.
TEST_P(QueuePairTest, ABrokenConnectionKeepsTheOrderOfCompletions) {
  std::array<Times, 3> times{};
  std::vector<std::string> order;
  for (std::size_t i = 0; i < times.size(); ++i) {
    Write one = write(times[i], i);
    one.completed = call([&order, i, this, &times] {
      times[i].completed = clock_.now();
      order.push_back("completed " + std::to_string(i));
    });
    one.failed = call([&order, i, this, &times] {
      times[i].failed = clock_.now();
      order.push_back("failed " + std::to_string(i));
    });
    pair_->post(one);
  }
  const Seconds first_left = 0.3_us + kTransfer;
  clock_.at(first_left + 0.3_us + 0.25 * kTransfer, call([&] { pair_->fail(); }));
  clock_.run();
  EXPECT_EQ(order, (std::vector<std::string>{"completed 0", "failed 1", "failed 2"}));
  EXPECT_TIME(times[0].completed, first_left + 3.7_us);
  EXPECT_GE(times[1].failed, times[0].completed);
  EXPECT_EQ(times[1].arrived, Seconds(0.0));
  EXPECT_EQ(pair_->pending_count(), 0U);
  // A quarter of the second write had moved.
  EXPECT_NEAR(static_cast<double>(network_->carried(LinkId(0)).count()),
              1.25 * static_cast<double>(kSize.count()), 1.0);
}

TEST_P(QueuePairTest, BreakingAnIdleOrWaitingConnectionNeverHangs) {
  std::array<Times, 3> times{};
  pair_->fail();
  pair_->post(write(times[0]));
  clock_.run();
  EXPECT_TRUE(pair_->in_error());
  EXPECT_EQ(pair_->pending_count(), 0U);
  pair_->reset();
  pair_->post(write(times[1]));
  clock_.after(0.1_us, call([&] { pair_->fail(); }));  // within the overhead
  clock_.run();
  EXPECT_TIME(times[1].failed, 0.1_us);
  pair_->reset();
  pair_->post(write(times[2]));
  clock_.run();
  EXPECT_GT(times[2].completed, Seconds(0.0));
}

TEST_P(QueuePairTest, BreakingAtTheInstantOfACompletionKeepsThatWrite) {
  Times first;
  Times second;
  Seconds other_end{};
  // Ends at the same instant as the first write, and its callback comes first.
  const RouteId own = route({link(kRate)});
  clock_.at(0.3_us, call([&] {
              network_->start(own, kSize, call([&] {
                                other_end = clock_.now();
                                pair_->fail();
                              }));
            }));
  pair_->post(write(first));
  pair_->post(write(second));
  clock_.run();
  EXPECT_TIME(other_end, 0.3_us + kTransfer);
  EXPECT_TIME(first.completed, 0.3_us + kTransfer + 3.7_us);
  EXPECT_TIME(second.failed, first.completed);
  EXPECT_EQ(second.arrived, Seconds(0.0));
}

}  // namespace
}  // namespace hoccl::sim
