#include <gtest/gtest.h>

#include "tests/sim/fabric/fixture.h"

namespace hoccl::sim {
namespace {

using engine::Arrived;
using engine::Bytes;
using engine::CopiesDone;
using engine::CopyClass;
using engine::Lane;
using engine::MessageArrived;
using engine::Outcome;
using engine::Rank;
using engine::Seconds;
using engine::Ticket;
using engine::WritesDone;
using namespace engine::literals;

constexpr Lane kPeer0{CopyClass::kPeer, 0};
constexpr Lane kPeer1{CopyClass::kPeer, 1};

using SimPortTest = HandDriven;

TEST_F(SimPortTest, ACopyTakesItsCallLaunchSetupBytesAndCompletion) {
  start("h800-1x8");
  EXPECT_EQ(port(0).post_copy(kPeer0, copy(send_slot(0, 0, 1_MiB), send_slot(1, 0, 1_MiB))),
            Ticket(1));
  port(0).flush();
  const CopyEngineConstants& engine = constants_.copy_engine;
  const Seconds begin = single_copy_cost() + engine.launch_latency;
  const Seconds end = begin + engine.setup + 1_MiB / nvlink_rate();
  expect_seen_at<CopiesDone>(0, end + engine.completion_latency);

  ASSERT_EQ(events("stage_in").size(), 1U);
  const engine::TraceEvent event = events("stage_in")[0];
  EXPECT_NEAR(event.begin / begin, 1.0, kRounding);
  EXPECT_NEAR(event.end / end, 1.0, kRounding);
  EXPECT_EQ(event.track.rank, Rank(0));
  EXPECT_EQ(event.operation, tag_.operation);
  EXPECT_EQ(event.flow, tag_.flow);
  EXPECT_EQ(event.chunk, 3);
  EXPECT_EQ(event.size, 1_MiB);
}

TEST_F(SimPortTest, ABatchPaysTheSetupOnceAndCompletesAsOne) {
  start("h800-1x8");
  constexpr int kCopies = 4;
  for (int i = 0; i < kCopies; ++i) {
    port(0).post_copy(kPeer0, copy(send_slot(0, i, 1_MiB), send_slot(1, i, 1_MiB)));
  }
  port(0).flush();
  const CopyEngineConstants& engine = constants_.copy_engine;
  const CpuConstants& cpu = constants_.cpu;
  const Seconds cost = cpu.post_peer.batch + kCopies * cpu.post_peer.in_batch;
  const Seconds end = cost + engine.launch_latency + engine.setup +
                      (kCopies - 1) * engine.setup_in_batch + kCopies * (1_MiB / nvlink_rate());
  fabric_->run_until(end + engine.completion_latency - Seconds(1e-10));
  EXPECT_TRUE(seen<CopiesDone>(0).empty());
  fabric_->run();
  const std::vector<CopiesDone> done = seen<CopiesDone>(0);
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].ticket, Ticket(kCopies));
  EXPECT_EQ(done[0].lane, kPeer0);
  EXPECT_NEAR(fabric_->now() / (end + engine.completion_latency), 1.0, kRounding);
}

TEST_F(SimPortTest, NothingMovesBeforeTheFlush) {
  start("h800-1x8");
  port(0).post_copy(kPeer0, copy(send_slot(0, 0, 1_MiB), send_slot(1, 0, 1_MiB)));
  fabric_->run();
  EXPECT_EQ(fabric_->now(), Seconds(0.0));
  port(0).flush();
  fabric_->run();
  EXPECT_EQ(seen<CopiesDone>(0).size(), 1U);
}

TEST_F(SimPortTest, APullAndAPushEnterTheSamePortOfTheTarget) {
  start("h800-1x8");
  // GPU 0 pulls from GPU 1 while GPU 2 pushes into GPU 0: both share GPU 0's way in.
  port(0).post_copy(kPeer0, copy(send_slot(1, 0, 16_MiB), receive_slot(0, 0, 16_MiB)));
  port(0).flush();
  port(2).post_copy(kPeer0, copy(send_slot(2, 0, 16_MiB), receive_slot(0, 1, 16_MiB)));
  port(2).flush();
  const CopyEngineConstants& engine = constants_.copy_engine;
  const Seconds end = single_copy_cost() + engine.launch_latency + engine.setup +
                      32_MiB / nvlink_rate() + engine.completion_latency;
  EXPECT_NEAR(fabric_->run() / end, 1.0, kRounding);
  EXPECT_EQ(seen<CopiesDone>(0).size(), 1U);
  EXPECT_EQ(seen<CopiesDone>(2).size(), 1U);
}

TEST_F(SimPortTest, LanesOverlapTheirSetupsUpToTheEnginesConcurrency) {
  start("h800-1x8", {"copy_engine.concurrency=1"});
  for (const Lane lane : {kPeer0, kPeer1}) {
    port(0).post_copy(lane, copy(send_slot(0, lane.index, 1_MiB), send_slot(1, lane.index, 1_MiB)));
  }
  port(0).flush();
  const CopyEngineConstants& engine = constants_.copy_engine;
  const Seconds end = single_copy_cost() + engine.launch_latency +
                      2.0 * (engine.setup + 1_MiB / nvlink_rate()) + engine.completion_latency;
  EXPECT_NEAR(fabric_->run() / end, 1.0, kRounding);
}

TEST_F(SimPortTest, PostsLeaveOneAfterTheOtherFromTheSameCore) {
  start("h800-2x8");
  for (int i = 0; i < 3; ++i) port(0).post_message(Rank(1), {});
  const CpuConstants& cpu = constants_.cpu;
  for (int i = 1; i <= 3; ++i) {
    expect_seen_at<MessageArrived>(1,
                                   i * cpu.post_local_message + constants_.message.local_latency);
  }
  EXPECT_NEAR(
      fabric_->proxy_time(Rank(0)).of(CpuPart::kPostMessage) / (3.0 * cpu.post_local_message), 1.0,
      kRounding);
}

TEST_F(SimPortTest, MessagesBetweenNodesTakeTheNetworksLatency) {
  start("h800-2x8");
  port(0).post_message(Rank(8), {});
  expect_seen_at<MessageArrived>(
      8, constants_.cpu.post_remote_message + constants_.message.remote_latency);
}

TEST_F(SimPortTest, MessagesToTheOwnRankAreSeenAtOnceButNotBeforeTheyAreSent) {
  start("h800-2x8");
  port(0).post_message(Rank(0), {});
  expect_seen_at<MessageArrived>(0, constants_.cpu.post_local_message);
}

TEST_F(SimPortTest, MessagesBetweenLogicalNodesOfOneDeviceAreLocal) {
  start("h200-1x1");
  port(0).post_message(Rank(1), {});
  expect_seen_at<MessageArrived>(
      1, constants_.cpu.post_local_message + constants_.message.local_latency);
}

TEST_F(SimPortTest, AWriteArrivesAfterOverheadBytesAndLatencyAndThenCompletes) {
  start("h800-2x8");
  const engine::QueuePairId queue_pair = pair(1, 1, 9);
  EXPECT_EQ(port(1).post_write(queue_pair, write(1, 9, 1_MiB)), Ticket(1));
  const QueuePairConstants& constants = constants_.queue_pair;
  const Seconds sent = constants_.cpu.post_write + constants.message_overhead + 1_MiB / nic_rate();
  const Seconds arrival = sent + constants.wire_latency;
  fabric_->run_until(arrival + Seconds(1e-10));
  const std::vector<Arrived> arrived = seen<Arrived>(9);
  ASSERT_EQ(arrived.size(), 1U);
  EXPECT_EQ(arrived[0].local_nic, engine::NicId(9));
  EXPECT_EQ(arrived[0].remote_nic, engine::NicId(1));
  EXPECT_EQ(arrived[0].immediate, 7U);
  EXPECT_EQ(arrived[0].descriptor.chunk, 3U);
  expect_seen_at<WritesDone>(1, arrival + constants.completion_latency);

  const std::vector<engine::TraceEvent> wires = events("wire");
  ASSERT_EQ(wires.size(), 2U);
  EXPECT_EQ(wires[0].track.kind, engine::TrackKind::kNicSend);
  EXPECT_NEAR(wires[0].end / sent, 1.0, kRounding);
  EXPECT_EQ(wires[1].track.kind, engine::TrackKind::kNicReceive);
  EXPECT_EQ(wires[1].track.rank, Rank(9));
  EXPECT_NEAR(wires[1].end / arrival, 1.0, kRounding);
}

TEST_F(SimPortTest, SeveralQueuePairsHideTheMessageOverhead) {
  start("h800-2x8");
  const engine::QueuePairId first = pair(1, 1, 9, 0);
  const engine::QueuePairId second = pair(1, 1, 9, 1);
  EXPECT_NE(first, second);
  EXPECT_EQ(first, pair(1, 1, 9, 0));
  port(1).post_write(first, write(1, 9, 1_MiB));
  port(1).post_write(second, write(1, 9, 1_MiB));
  // The second starts before the first ends, so the NIC is never idle after the first overhead.
  const QueuePairConstants& constants = constants_.queue_pair;
  const Seconds end = constants_.cpu.post_write + constants.message_overhead + 2_MiB / nic_rate() +
                      constants.wire_latency + constants.completion_latency;
  EXPECT_NEAR(fabric_->run() / end, 1.0, kRounding);
}

TEST_F(SimPortTest, OnAMapWireTheSlotChangesOwnerAndNothingMoves) {
  start("h200-1x1");
  port(0).post_write(pair(0, 0, 1), write(0, 1, 64_MiB));
  // Seen through the shared memory of the host by both ends.
  const Seconds time = constants_.cpu.post_local_message + constants_.message.local_latency;
  expect_seen_at<Arrived>(1, time);
  EXPECT_EQ(seen<WritesDone>(0).size(), 1U);
  for (const LinkUse& link : fabric_->link_use()) EXPECT_EQ(link.carried, 0_B) << link.name;
}

TEST_F(SimPortTest, PollingCostsPerLookAndPerCompletion) {
  start("h800-2x8");
  port(0).post_message(Rank(1), {});
  port(0).post_message(Rank(1), {});
  fabric_->run();
  EXPECT_EQ(seen<MessageArrived>(1).size(), 2U);  // one look finds two, the next none
  const CpuConstants& cpu = constants_.cpu;
  EXPECT_NEAR(
      fabric_->proxy_time(Rank(1)).total() / (2.0 * cpu.poll_empty + 2.0 * cpu.poll_message), 1.0,
      kRounding);
}

TEST_F(SimPortTest, PollingCostsAQueryPerLaneWhoseNextEventIsUnderWay) {
  start("h800-1x8", {"copy_engine.concurrency=2"});
  for (int batch = 0; batch < 2; ++batch) {
    for (const Lane lane : {kPeer0, kPeer1}) {
      port(0).post_copy(lane, copy(send_slot(0, 0, 1_MiB), send_slot(1, 0, 1_MiB)));
    }
    port(0).flush();
  }
  const CpuConstants& cpu = constants_.cpu;
  Seconds before = fabric_->proxy_time(Rank(0)).total();
  const auto expect_cost = [&](Seconds cost) {
    const Seconds now = fabric_->proxy_time(Rank(0)).total();
    EXPECT_NEAR((now - before) / cost, 1.0, kRounding);
    before = now;
  };
  EXPECT_TRUE(seen<CopiesDone>(0).empty());
  expect_cost(cpu.poll_empty + 2.0 * cpu.query_copies);
  const Seconds first_ends = 2.0 * 1_MiB / nvlink_rate() + 10_us;
  fabric_->run_until(first_ends);
  EXPECT_EQ(seen<CopiesDone>(0).size(), 2U);  // one look finds both, the next none
  expect_cost(2.0 * cpu.poll_empty + 2.0 * cpu.poll_copies + 4.0 * cpu.query_copies);
  fabric_->run();
  EXPECT_EQ(seen<CopiesDone>(0).size(), 2U);
  expect_cost(2.0 * cpu.poll_empty + 2.0 * cpu.poll_copies);
}

TEST_F(SimPortTest, SubmitTimeIsThePostingOfTheSourcesCopiesAndWrites) {
  start("h800-2x8");
  port(0).post_copy(kPeer0, copy(send_slot(0, 0, 1_MiB), send_slot(1, 0, 1_MiB)));
  port(0).flush();
  port(1).post_write(pair(1, 1, 9), write(1, 9, 1_MiB));  // by the stager, for source 0
  port(8).post_copy(
      kPeer0, copy(receive_slot(9, 0, 1_MiB), receive_slot(8, 0, 1_MiB), engine::Leg::kDeliver));
  port(8).flush();
  EXPECT_NEAR(fabric_->submit_time(Rank(0)) /
                  (single_copy_cost() + constants_.cpu.post_event + constants_.cpu.post_write),
              1.0, kRounding);
  EXPECT_EQ(fabric_->submit_time(Rank(1)), Seconds(0.0));
  EXPECT_EQ(fabric_->submit_time(Rank(8)), Seconds(0.0));
}

TEST_F(SimPortTest, ExportAndImportMakeABufferNameable) {
  start("h800-1x8");
  const engine::BufferHandle buffer = fabric_->allocate(Rank(1), 1_MiB);
  port(1).export_buffer(buffer);
  expect_seen_at<engine::BufferExported>(1, constants_.cpu.export_buffer);
  port(0).import_buffer(buffer);
  const Seconds imported = fabric_->now() + constants_.cpu.import_buffer;
  expect_seen_at<engine::BufferImported>(0, imported);
  port(0).post_copy(kPeer0, copy(send_slot(0, 0, 1_MiB), {buffer, 0_B, 1_MiB}));
  port(0).flush();
  fabric_->run();
  EXPECT_EQ(seen<CopiesDone>(0).size(), 1U);
}

using SimPortDeathTest = HandDriven;

TEST_F(SimPortDeathTest, RefusesABufferThatWasNotImported) {
  start("h800-1x8");
  const engine::BufferHandle buffer = fabric_->allocate(Rank(1), 1_MiB);
  EXPECT_DEATH(port(0).post_copy(kPeer0, copy(send_slot(0, 0, 1_MiB), {buffer, 0_B, 1_MiB})),
               "without having imported");
}

TEST_F(SimPortDeathTest, RefusesARegionBeyondItsBuffer) {
  start("h800-1x8");
  const engine::BufferHandle buffer = fabric_->allocate(Rank(0), 1_MiB);
  EXPECT_DEATH(port(0).post_copy(kPeer0, copy({buffer, 1_B, 1_MiB}, send_slot(1, 0, 1_MiB))),
               "buffer 4|which has 1048576");
}

TEST_F(SimPortDeathTest, RefusesACopyWithinOneDevice) {
  start("h800-1x8");
  EXPECT_DEATH(port(0).post_copy(kPeer0, copy(send_slot(0, 0, 1_MiB), send_slot(0, 1, 1_MiB))),
               "copy within device 0");
}

TEST_F(SimPortTest, AFailedNicEndsEveryWriteNotYetSentWithAnError) {
  start("h800-2x8");
  const engine::QueuePairId queue_pair = pair(1, 1, 9);
  for (int i = 0; i < 3; ++i) port(1).post_write(queue_pair, write(1, 9, 1_MiB));
  const Seconds one = constants_.queue_pair.message_overhead + 1_MiB / nic_rate();
  const Seconds break_time = constants_.cpu.post_write + 1.5 * one;  // during the second
  fabric_->fail_writes(engine::NicId(9), break_time);
  fabric_->run();
  const std::vector<WritesDone> done = seen<WritesDone>(1);
  ASSERT_EQ(done.size(), 3U);
  std::size_t error_count = 0;
  for (const WritesDone& each : done) {
    if (each.outcome == Outcome::kOk) {
      EXPECT_EQ(each.ticket, Ticket(1));
    } else {
      ++error_count;
    }
  }
  EXPECT_EQ(error_count, 2U);
  EXPECT_EQ(seen<Arrived>(9).size(), 1U);

  port(1).post_write(queue_pair, write(1, 9, 1_MiB));
  port(1).post_write(pair(1, 1, 9, 5), write(1, 9, 1_MiB));  // created after the break
  fabric_->run();
  for (const WritesDone& each : seen<WritesDone>(1)) EXPECT_EQ(each.outcome, Outcome::kError);
  EXPECT_TRUE(seen<Arrived>(9).empty());
}

TEST_F(SimPortTest, ALostRankIsReportedToAllOthersAndHearsNothing) {
  start("h800-1x8");
  fabric_->lose_rank(Rank(3), 10_us);
  expect_seen_at<engine::PeerLost>(0, 10_us + constants_.message.remote_latency);
  port(0).post_message(Rank(3), {});
  fabric_->run();
  EXPECT_TRUE(seen<MessageArrived>(3).empty());
  EXPECT_EQ(seen<engine::PeerLost>(7).size(), 1U);
}

}  // namespace
}  // namespace hoccl::sim
