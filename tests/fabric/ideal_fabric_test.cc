// What IdealFabric adds to the seam: times in closed form, streams, and being hostile.

#include "tests/support/ideal_fabric.h"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <vector>

#include "tests/support/byte_pattern.h"
#include "tests/support/job.h"

namespace hoccl::engine {
namespace {

using namespace literals;

const Lane kLane{CopyClass::kPeer, 0};
const Lane kOtherLane{CopyClass::kPeer, 1};
constexpr Bytes kSize = 64_KiB;

class IdealTimes : public testing::Test {
 protected:
  static IdealOptions options() {
    IdealOptions result;
    result.slot_size = kSize;
    return result;
  }

  Port& port(int rank) { return fabric_.port(Rank(rank)); }
  [[nodiscard]] PlaceId place(int gpu) const { return fabric_.topology().gpu_place(GpuId(gpu)); }
  Region slot(int gpu, bool send, int index) {
    const StagingPlace& staging = port(0).staging(place(gpu));
    return {send ? staging.send_slots : staging.receive_slots, kSize * index, kSize};
  }
  /// Rank 0 copies into a send slot of GPU 1.
  void copy(Lane lane, int index) {
    const Region source{fabric_.allocate(Rank(0), kSize), Bytes(0), kSize};
    port(0).post_copy(lane, {source, slot(1, true, index), Leg::kStageIn, {}});
  }
  Seconds run() {
    const Seconds begin = fabric_.now();
    EXPECT_EQ(fabric_.run(), RunEnd::kIdle);
    for (int rank = 0; rank < fabric_.topology().rank_count(); ++rank) {
      std::array<Completion, 64> completions;
      while (port(rank).poll(completions) > 0) {
      }
    }
    return fabric_.now() - begin;
  }
  static void expect_time(Seconds actual, Seconds expected) {
    EXPECT_NEAR(actual.count(), expected.count(), 1e-12 * expected.count() + 1e-18);
  }

  const IdealTiming timing_;
  IdealFabric fabric_{resolve_topology("h800-2x4"), options()};
};

TEST_F(IdealTimes, ABatchTakesOneLaunchAndItsBytes) {
  for (int i = 0; i < 3; ++i) copy(kLane, i);
  port(0).flush();
  expect_time(run(), timing_.copy_launch + kSize * 3 / timing_.copy_rate);
}

TEST_F(IdealTimes, BatchesOfALaneFollowEachOther) {
  for (int i = 0; i < 3; ++i) {
    copy(kLane, i);
    port(0).flush();
  }
  expect_time(run(), 3 * (timing_.copy_launch + kSize / timing_.copy_rate));
}

TEST_F(IdealTimes, LanesRunAtTheSameTime) {
  copy(kLane, 0);
  copy(kOtherLane, 1);
  port(0).flush();
  expect_time(run(), timing_.copy_launch + kSize / timing_.copy_rate);
}

TEST_F(IdealTimes, WritesShareTheirQueuePairButNotItsLatency) {
  for (int i = 0; i < 3; ++i) copy(kLane, i);
  port(0).flush();
  run();
  // GPU g has NIC g; rank 1 hosts the place of NIC 1.
  const std::array pairs = {port(1).queue_pair(NicId(1), NicId(5), Rank(5), 0),
                            port(1).queue_pair(NicId(1), NicId(5), Rank(5), 1)};
  for (int i = 0; i < 3; ++i) {
    WriteRequest request;
    request.local = slot(1, true, i);
    request.remote = slot(5, false, i);
    port(1).post_write(pairs[i == 2 ? 1U : 0U], request);
  }
  expect_time(run(), 2 * (kSize / timing_.write_rate) + timing_.write_latency +
                         timing_.acknowledge_latency);
}

TEST_F(IdealTimes, StreamsComputeAndWaitForEvents) {
  std::vector<int> order;
  const EventId event = [&] {
    fabric_.enqueue_delay(Rank(0), StreamId(0), 5_us);
    fabric_.enqueue_callback(Rank(0), StreamId(0), [&] { order.push_back(0); });
    return fabric_.enqueue_record_event(Rank(0), StreamId(0));
  }();
  fabric_.enqueue_wait_event(Rank(0), StreamId(1), event);
  fabric_.enqueue_delay(Rank(0), StreamId(1), 3_us);
  fabric_.enqueue_callback(Rank(0), StreamId(1), [&] { order.push_back(1); });
  fabric_.enqueue_callback(Rank(0), StreamId(2), [&] { order.push_back(2); });
  expect_time(run(), 8_us);
  EXPECT_EQ(order, (std::vector{2, 0, 1}));
  EXPECT_TRUE(fabric_.streams_drained());
}

/// Runs one message of a single chunk between two ranks and returns when the target's stream passed
/// it; again on the same buffers if `repeat`.
Seconds time_of_message(int target, bool repeat) {
  IdealOptions options;
  options.slot_size = kSize;
  options.write_once = false;
  IdealFabric fabric(resolve_topology("h800-2x4"), options);
  CompileOptions compile;
  compile.chunk_size = kSize;
  Job job(fabric, fabric.topology().rank_count(), PipelineOptions(), compile);
  const Region sent{fabric.allocate(Rank(0), kSize), Bytes(0), kSize};
  const Region received{fabric.allocate(Rank(target), kSize), Bytes(0), kSize};
  fill_pattern(fabric.bytes(sent), 1);
  Seconds begin(0.0);
  Seconds end(0.0);
  for (int i = 0; i <= (repeat ? 1 : 0); ++i) {
    begin = fabric.now();
    job.communicator(Rank(0)).send(sent, Rank(target), StreamId(0));
    job.communicator(Rank(target)).receive(received, Rank(0), StreamId(0));
    fabric.enqueue_callback(Rank(target), StreamId(0), [&] { end = fabric.now(); });
    EXPECT_EQ(fabric.run(job.proxies()), RunEnd::kIdle);
    EXPECT_FALSE(first_difference(fabric.bytes(received), 1).has_value());
  }
  return end - begin;
}

TEST_F(IdealTimes, AStagedMessageTakesTheSumOfItsLegs) {
  // ready, lease request, credit request, credit, grant | stage-in | staged | wire | landed |
  // deliver: seven messages, two copies, one write.
  const Seconds copy = timing_.copy_launch + kSize / timing_.copy_rate;
  const Seconds write = kSize / timing_.write_rate + timing_.write_latency;
  expect_time(time_of_message(4, false), 7 * timing_.message_latency + 2 * copy + write);
}

TEST_F(IdealTimes, ADirectMessageIsMappedOnlyTheFirstTime) {
  // export | ready | import | copy | delivered
  const Seconds copy = timing_.copy_launch + kSize / timing_.copy_rate;
  const Seconds known = 2 * timing_.message_latency + copy;
  expect_time(time_of_message(1, false), known + 2 * timing_.export_latency);
  EXPECT_NEAR(time_of_message(1, true).count(), known.count(), 1e-9 * known.count());
}

/// How an adversarial fabric reports ten copies of one lane.
std::vector<std::int64_t> tickets_seen(std::uint64_t seed) {
  IdealOptions options;
  options.timing = Timing::kAdversarial;
  options.seed = seed;
  options.slot_size = 64_B;
  options.send_slots = 10;
  IdealFabric fabric(resolve_topology("h800-1x2"), options);
  Port& port = fabric.port(Rank(0));
  const StagingPlace& staging = port.staging(fabric.topology().gpu_place(GpuId(1)));
  const BufferHandle source = fabric.allocate(Rank(0), 64_B);
  for (int i = 0; i < 10; ++i) {
    const Region target{staging.send_slots, 64_B * i, 64_B};
    port.post_copy(kLane, {{source, Bytes(0), 64_B}, target, Leg::kStageIn, {}});
    port.flush();
  }
  fabric.run();
  std::vector<std::int64_t> tickets;
  std::array<Completion, 16> completions;
  while (const std::size_t count = port.poll(completions)) {
    for (std::size_t i = 0; i < count; ++i) {
      tickets.push_back(std::get<CopiesDone>(completions[i]).ticket.value());
    }
  }
  return tickets;
}

TEST(IdealAdversary, CoalescesCompletionsDifferentlyPerSeedAndEquallyPerRun) {
  std::set<std::vector<std::int64_t>> seen;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto tickets = tickets_seen(seed);
    ASSERT_FALSE(tickets.empty());
    EXPECT_EQ(tickets.back(), 10);
    EXPECT_EQ(tickets, tickets_seen(seed));
    seen.insert(tickets);
  }
  EXPECT_GT(seen.size(), 10U);
}

}  // namespace
}  // namespace hoccl::engine
