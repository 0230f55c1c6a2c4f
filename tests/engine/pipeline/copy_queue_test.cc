#include "engine/pipeline/copy_queue.h"

#include <gtest/gtest.h>

#include "engine/pipeline/batch_limit.h"
#include "tests/engine/pipeline/scripted_port.h"

namespace hoccl::engine {
namespace {

constexpr std::int64_t kNoLimit = 1000;

class CopyQueueTest : public ::testing::Test {
 protected:
  static PipelineOptions options(int streams, int quantum, int batch) {
    PipelineOptions options;
    options.streams = streams;
    options.quantum = quantum;
    options.batch = batch;
    return options;
  }

  static CopyJob job(std::uint32_t chunk) {
    CopyJob job;
    job.request.tag.chunk = chunk;
    return job;
  }

  ScriptedPort port_;
};

TEST_F(CopyQueueTest, KeepsNoMoreThanTheQuantumAheadOfAnEngine) {
  const PipelineOptions three = options(2, 3, 0);
  CopyQueue queue(port_, three);
  for (std::uint32_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(queue.has_room(CopyClass::kPeer));
    queue.post(CopyClass::kPeer, job(i), kNoLimit);
  }
  EXPECT_FALSE(queue.has_room(CopyClass::kPeer));
  EXPECT_TRUE(queue.has_room(CopyClass::kDeviceToHost)) << "engines have a quantum each";
  EXPECT_DEATH(queue.post(CopyClass::kPeer, job(3), kNoLimit), "3 copies are ahead");
}

TEST_F(CopyQueueTest, SpreadsCopiesOverLanes) {
  const PipelineOptions four = options(4, 8, 0);
  CopyQueue queue(port_, four);
  for (std::uint32_t i = 0; i < 8; ++i) queue.post(CopyClass::kPeer, job(i), kNoLimit);
  std::vector<int> per_lane(4, 0);
  for (const auto& copy : port_.copies) per_lane[copy.lane.index] += 1;
  EXPECT_EQ(per_lane, (std::vector<int>{2, 2, 2, 2}));
}

TEST_F(CopyQueueTest, ACompletionEndsAllCopiesOfItsLaneUpToTheTicket) {
  const PipelineOptions one_lane = options(1, 8, 0);
  CopyQueue queue(port_, one_lane);
  for (std::uint32_t i = 0; i < 5; ++i) queue.post(CopyClass::kPeer, job(i), kNoLimit);
  std::vector<CopyQueue::Ended> ended;
  queue.complete({{CopyClass::kPeer, 0}, Ticket(3), Outcome::kOk}, ended);
  ASSERT_EQ(ended.size(), 3U);
  EXPECT_EQ(ended[2].job.request.tag.chunk, 2U);
  queue.complete({{CopyClass::kPeer, 0}, Ticket(5), Outcome::kOk}, ended);
  EXPECT_EQ(ended.size(), 5U);
  EXPECT_TRUE(queue.idle());
}

TEST_F(CopyQueueTest, OnlyTheNamedTicketOfAnErrorFailed) {
  const PipelineOptions one_lane = options(1, 8, 0);
  CopyQueue queue(port_, one_lane);
  for (std::uint32_t i = 0; i < 3; ++i) queue.post(CopyClass::kPeer, job(i), kNoLimit);
  std::vector<CopyQueue::Ended> ended;
  queue.complete({{CopyClass::kPeer, 0}, Ticket(2), Outcome::kError}, ended);
  ASSERT_EQ(ended.size(), 2U);
  EXPECT_EQ(ended[0].outcome, Outcome::kOk);
  EXPECT_EQ(ended[1].outcome, Outcome::kError);
  EXPECT_FALSE(queue.idle());
}

TEST_F(CopyQueueTest, BatchOfOneFlushesEveryCopy) {
  const PipelineOptions single = options(1, 8, 1);
  CopyQueue queue(port_, single);
  for (std::uint32_t i = 0; i < 3; ++i) queue.post(CopyClass::kPeer, job(i), kNoLimit);
  EXPECT_EQ(port_.flushes, 3);
}

TEST_F(CopyQueueTest, AdaptiveBatchTakesWhatIsReadyAndNeverWaits) {
  const PipelineOptions adaptive = options(1, 8, 0);
  CopyQueue queue(port_, adaptive);
  for (std::uint32_t i = 0; i < 3; ++i) queue.post(CopyClass::kPeer, job(i), kNoLimit);
  EXPECT_EQ(port_.flushes, 0);
  queue.flush();
  EXPECT_EQ(port_.flushes, 1);
  queue.flush();
  EXPECT_EQ(port_.flushes, 1) << "nothing to hand over";
}

TEST_F(CopyQueueTest, AnAdaptiveBatchEndsAtItsLimitAndAtHalfTheQuantum) {
  const PipelineOptions adaptive = options(1, 12, 0);
  CopyQueue queue(port_, adaptive);
  for (std::uint32_t i = 0; i < 4; ++i) queue.post(CopyClass::kPeer, job(i), 4);
  EXPECT_EQ(port_.flushes, 1);
  for (std::uint32_t i = 0; i < 6; ++i) queue.post(CopyClass::kPeer, job(i), kNoLimit);
  EXPECT_EQ(port_.flushes, 2);
}

TEST_F(CopyQueueTest, ALaneHasOneBatchRunningAndOneWaiting) {
  const PipelineOptions adaptive = options(1, 100, 0);
  CopyQueue queue(port_, adaptive);
  for (int batch = 0; batch < 2; ++batch) {
    ASSERT_TRUE(queue.has_room(CopyClass::kPeer));
    queue.post(CopyClass::kPeer, job(0), kNoLimit);
    queue.flush();
  }
  EXPECT_FALSE(queue.has_room(CopyClass::kPeer)) << "what is ready next goes together";
  std::vector<CopyQueue::Ended> ended;
  queue.complete({{CopyClass::kPeer, 0}, Ticket(1), Outcome::kOk}, ended);
  EXPECT_TRUE(queue.has_room(CopyClass::kPeer));
}

TEST_F(CopyQueueTest, ABatchOfGivenSizeMayWaitBehindAsManyAsTheQuantumAllows) {
  const PipelineOptions single = options(1, 3, 1);
  CopyQueue queue(port_, single);
  for (std::uint32_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(queue.has_room(CopyClass::kPeer));
    queue.post(CopyClass::kPeer, job(i), kNoLimit);
  }
  EXPECT_FALSE(queue.has_room(CopyClass::kPeer));
}

TEST(BatchLimit, IsSmallWhereTheNextLegsWouldIdle) {
  EXPECT_EQ(batch_limit(0, 100, 1), 2) << "at the beginning";
  EXPECT_EQ(batch_limit(4, 100, 1), 4);
  EXPECT_EQ(batch_limit(50, 50, 1), 8);
  EXPECT_EQ(batch_limit(90, 10, 1), 6);
  EXPECT_EQ(batch_limit(100, 0, 1), 2) << "at the end";
  EXPECT_EQ(batch_limit(2, 100, 3), 6) << "three flows fill an engine together";
}

}  // namespace
}  // namespace hoccl::engine
