#include "hw/run/measurement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <latch>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/topology/topology.h"
#include "hw/fabric/hw_fabric.h"
#include "hw/run/byte_check.h"
#include "hw/run/gather_trace.h"
#include "hw/run/rank_buffers.h"
#include "hw/system/monotonic_clock.h"
#include "tests/hw/bootstrap/thread_job.h"

namespace hoccl::hw {
namespace {

using engine::Bytes;
using engine::Rank;
using engine::RunResult;
using engine::Seconds;
using namespace engine::literals;
using testing::HasSubstr;

RunScenario quick_scenario(const std::string& topology, const std::string& pattern) {
  RunScenario scenario{.topology = engine::preset_topology(topology)};
  scenario.traffic.request.name = pattern;
  scenario.compile.chunk_size = 64_KiB;
  scenario.hardware.slot_size = 64_KiB;
  scenario.hardware.slots = 2;
  scenario.iterations = 2;
  scenario.rounds = 3;
  scenario.check = true;
  scenario.legs = true;
  return scenario;
}

/// What every rank, each on threads of its own, measured at the sizes.
std::vector<std::vector<RunResult>> measure_all(const RunScenario& scenario,
                                                const std::vector<Bytes>& sizes) {
  const int ranks = scenario.topology.rank_count();
  auto bootstraps = test::connect_all(ranks);
  std::vector<std::vector<RunResult>> results(bootstraps.size());
  const auto errors = test::run_ranks(ranks, [&](int rank) {
    const auto index = static_cast<std::size_t>(rank);
    HwFabric fabric(std::move(bootstraps[index]), scenario.topology, scenario.hardware);
    Measurement measurement(fabric, scenario, std::ranges::max(sizes));
    for (const Bytes size : sizes) results[index].push_back(measurement.measure(size));
    measurement.finish();
  });
  for (const std::string& error : errors) EXPECT_EQ(error, "");
  return results;
}

TEST(Measurement, GivesAllRanksTheSameResult) {
  const auto results = measure_all(quick_scenario("h800-2x2", "sendrecv-ring"), {1_B, 300_KiB});
  for (const auto& rank : results) {
    ASSERT_EQ(rank.size(), 2U);
    for (std::size_t i = 0; i < rank.size(); ++i) {
      const RunResult& result = rank[i];
      EXPECT_EQ(result.time, results[0][i].time);
      EXPECT_EQ(result.proxy, results[0][i].proxy);
      ASSERT_TRUE(result.rounds);
      EXPECT_EQ(result.rounds->count, 3);
      EXPECT_EQ(result.rounds->iterations, 2);
      EXPECT_LE(result.rounds->fastest, result.time);
      EXPECT_GE(result.rounds->slowest, result.time);
      EXPECT_GT(result.rounds->fastest, Seconds(0.0));
    }
  }
}

TEST(Measurement, CountsTheLegsOfAllRanks) {
  const auto results = measure_all(quick_scenario("h800-2x2", "sendrecv-ring"), {256_KiB});
  ASSERT_TRUE(results[0][0].legs);
  const engine::LegTimes& legs = *results[0][0].legs;
  // 0 -> 1 and 2 -> 3 stay in their node, 1 -> 2 and 3 -> 0 do not; four chunks each.
  for (const engine::LegTime& leg : legs) EXPECT_EQ(leg.count, 8);
}

TEST(Measurement, ChecksEveryByteOfCollectives) {
  for (const char* pattern : {"allgather", "alltoallv", "scatter"}) {
    RunScenario scenario = quick_scenario("h800-2x2", pattern);
    scenario.compile.forwarding = engine::Forwarding::kBalanced;
    scenario.traffic.request.matrix = engine::MatrixKind::kZipf;
    scenario.traffic.request.root = Rank(1);
    const auto results = measure_all(scenario, {200001_B});
    EXPECT_GT(results[0][0].time, Seconds(0.0)) << pattern;
  }
}

TEST(Measurement, RanksOutsideTheGroupOnlyRelay) {
  RunScenario scenario = quick_scenario("h800-2x2", "alltoall");
  scenario.traffic.request.group = {Rank(0), Rank(2)};
  const auto results = measure_all(scenario, {256_KiB});
  // Each sends one half to the other, two chunks, by way of its neighbour; and keeps the other.
  EXPECT_EQ((*results[3][0].legs)[1].count, 4);
}

TEST(Measurement, AWireWithARateIsNoFasterThanIt) {
  RunScenario scenario = quick_scenario("h800-2x2", "sendrecv");
  scenario.traffic.request.target = Rank(2);
  scenario.hardware.link_rate = engine::BytesPerSecond(50e6);
  const auto results = measure_all(scenario, {256_KiB});
  EXPECT_GE(results[0][0].rounds->fastest, 256_KiB / *scenario.hardware.link_rate);
  EXPECT_EQ(results[0][0].bound, 256_KiB / *scenario.hardware.link_rate);
}

TEST(Measurement, EndsAtOnceWhereAnOperationFailsAndAsksNobody) {
  RunScenario scenario = quick_scenario("h800-1x2", "sendrecv");
  // Each would time out after the one before it.
  scenario.warmup = 100;
  scenario.pipeline.timeout = Seconds(0.2);
  auto bootstraps = test::connect_all(2);
  std::latch failed(1);
  const auto errors = test::run_ranks(2, [&](int rank) {
    HwFabric fabric(std::move(bootstraps[static_cast<std::size_t>(rank)]), scenario.topology,
                    scenario.hardware);
    Measurement measurement(fabric, scenario, 64_KiB);
    if (rank == 1) {
      // Meets the other once and is as if frozen then.
      fabric.bootstrap().barrier();
      failed.wait();
      return;
    }
    const Seconds begin = monotonic_now();
    EXPECT_THROW(measurement.measure(64_KiB), RunFailed);
    EXPECT_LT(monotonic_now() - begin, 0.1 * scenario.warmup * scenario.pipeline.timeout);
    failed.count_down();
  });
  for (const std::string& error : errors) EXPECT_EQ(error, "");
}

TEST(RankBuffers, NameTheWrongByteAndItsSource) {
  auto bootstraps = test::connect_all(1);
  HwFabric fabric(std::move(bootstraps[0]), engine::preset_topology("h800-1x1"), {});
  // A message to itself, which no plan would hold, so that one rank is both ends.
  const std::vector<engine::Flow> flows = {{.source = Rank(0),
                                            .target = Rank(0),
                                            .source_offset = 3_B,
                                            .target_offset = 5_B,
                                            .size = 1000_B}};
  RankBuffers buffers(fabric, flows);
  buffers.prepare(flows, 1, 1);
  EXPECT_THAT(buffers.wrong(flows, 1, 1), HasSubstr("offset 5 of the receive buffer"));
  const auto sent = fabric.bytes({buffers.send().buffer, 3_B, 1000_B});
  const auto received = fabric.bytes({buffers.receive().buffer, 5_B, 1000_B + 1_B});
  std::memcpy(received.data(), sent.data(), sent.size());
  EXPECT_EQ(buffers.wrong(flows, 1, 1), "");
  EXPECT_NE(buffers.wrong(flows, 1, 2), "");
  received[700] ^= std::byte{0x80};
  EXPECT_THAT(buffers.wrong(flows, 1, 1), HasSubstr("rank 0: wrong byte at offset 705"));
  received[700] ^= std::byte{0x80};
  received[1000] = std::byte{0};  // behind the message
  EXPECT_THAT(buffers.wrong(flows, 1, 1), HasSubstr("offset 1005"));
}

TEST(GatherTrace, BringsEventsOfAllRanksTogetherWithTimesFromTheEarliest) {
  // More than one blob of the bootstrap holds.
  constexpr int kEvents = 20000;
  auto bootstraps = test::connect_all(2);
  std::vector<std::vector<engine::TraceEvent>> gathered(2);
  const auto errors = test::run_ranks(2, [&](int rank) {
    std::vector<engine::TraceEvent> own;
    for (int i = 0; i < (rank == 0 ? kEvents : 1); ++i) {
      engine::TraceEvent event;
      event.begin = Seconds(100.0 + rank);
      event.end = Seconds(101.0 + rank);
      event.track = {Rank(rank), engine::TrackKind::kNicSend, rank};
      event.name = engine::kLegNames[static_cast<std::size_t>(1 + rank)];
      event.chunk = i;
      own.push_back(event);
    }
    const auto index = static_cast<std::size_t>(rank);
    gathered[index] = gather_trace(*bootstraps[index], own);
  });
  for (const std::string& error : errors) EXPECT_EQ(error, "");
  for (const auto& events : gathered) {
    ASSERT_EQ(events.size(), static_cast<std::size_t>(kEvents + 1));
    const auto other = std::ranges::find(events, Seconds(1.0), &engine::TraceEvent::begin);
    ASSERT_NE(other, events.end());
    EXPECT_EQ(other->name, "deliver");
    EXPECT_EQ(std::ranges::count(events, Seconds(0.0), &engine::TraceEvent::begin), kEvents);
  }
}

}  // namespace
}  // namespace hoccl::hw
