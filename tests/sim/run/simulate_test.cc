#include "sim/run/simulate.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/base/config_error.h"
#include "engine/pattern/sendrecv.h"
#include "sim/run/fork_pool.h"
#include "sim/run/sweep.h"

namespace hoccl::sim {
namespace {

using engine::Bytes;
using engine::LinkBytes;
using engine::Rank;
using engine::RunResult;
using engine::Seconds;
using namespace engine::literals;

Scenario hoccl_scenario(int target) {
  Scenario scenario{.topology = engine::preset_topology("h800-2x8"),
                    .calibration = resolve_calibration("h800")};
  scenario.traffic.request.target = Rank(target);
  return scenario;
}

/// In a process of its own.
RunResult simulated(const Scenario& scenario, Bytes size) {
  return simulate_sizes(scenario, std::vector{size}, 1).front();
}

TEST(Simulate, IntraNodeMovesEveryByteOnceOverNvlink) {
  const RunResult result = simulated(hoccl_scenario(1), 100_MiB + 1_B);
  EXPECT_EQ(result.link_bytes, (LinkBytes{.nvlink = 100_MiB + 1_B, .nic = {}, .pcie = {}}));
  EXPECT_EQ(result.sms, 0);
}

TEST(Simulate, InterNodeCrossesNvlinkOnBothSidesOfTheWire) {
  // Paper §4: staging adds NVLink traffic on both sides of each RDMA transfer.
  const RunResult result = simulated(hoccl_scenario(8), 100_MiB + 1_B);
  EXPECT_EQ(result.link_bytes,
            (LinkBytes{.nvlink = 2 * (100_MiB + 1_B), .nic = 100_MiB + 1_B, .pcie = {}}));
}

TEST(Simulate, MeanOfSeveralIterationsIsThatOfOne) {
  Scenario scenario = hoccl_scenario(8);
  const Seconds one = simulated(scenario, 32_MiB).time;
  scenario.iterations = 4;
  const RunResult four = simulated(scenario, 32_MiB);
  EXPECT_NEAR(four.time / one, 1.0, 1e-6);
  EXPECT_EQ(four.link_bytes->nic, 32_MiB);
}

// Whoever is done begins the next one; launches are hidden behind those before.
TEST(Simulate, BackToBackOperationsTakeAboutTheTimeOfOneEach) {
  Scenario scenario = hoccl_scenario(8);
  const Seconds one = simulated(scenario, 32_MiB).time;
  scenario.iterations = 4;
  scenario.back_to_back = true;
  const RunResult four = simulated(scenario, 32_MiB);
  EXPECT_GT(four.time / one, 0.8);
  EXPECT_LT(four.time / one, 1.05);
  EXPECT_EQ(four.link_bytes->nic, 32_MiB);
}

// As `hoccl run` measures: only between operations is a stream's way back part of the time.
TEST(Simulate, BackToBackOperationsEndBeforeTheLastStreamGoesOn) {
  Scenario scenario = hoccl_scenario(8);
  scenario.back_to_back = true;
  const auto with_resume = [&](Seconds resume, int iterations) {
    scenario.calibration.gate.resume_latency = resume;
    scenario.iterations = iterations;
    return simulated(scenario, 1_MiB).time;
  };
  EXPECT_EQ(with_resume(1_us, 1), with_resume(100_us, 1));
  EXPECT_GT(with_resume(100_us, 2), with_resume(1_us, 2) + 40_us);
}

TEST(Simulate, ThreadsOfOneProcessWaitForTheDriversLock) {
  Scenario scenario = hoccl_scenario(8);
  scenario.topology = engine::preset_topology("h200-1x1").with_ranks(4);
  scenario.traffic.request.name = "alltoall";
  scenario.traffic.request.in_place = true;
  const RunResult processes = simulated(scenario, 64_KiB);
  scenario.one_process = true;
  const RunResult threads = simulated(scenario, 64_KiB);
  EXPECT_GT(threads.time, processes.time);
  EXPECT_GT(threads.proxy, processes.proxy);
  EXPECT_GT(threads.launch, processes.launch);
}

/// Slots come back one by one; with batches of a given size sources get as many at a time.
TEST(Simulate, BatchesHalveWhatSubmissionCosts) {
  Scenario scenario = hoccl_scenario(8);
  scenario.pipeline.quantum = 96;
  scenario.slots = 128;
  const auto run = [&](int batch) {
    scenario.pipeline.batch = batch;
    return simulated(scenario, 512_MiB);
  };
  const RunResult one = run(1);
  const RunResult many = run(32);
  EXPECT_LT(many.submit / one.submit, 0.55);
  EXPECT_GT(many.busbw / one.busbw, 0.97);
}

TEST(Simulate, PrebuiltWritesCostTheSourceLess) {
  Scenario scenario = hoccl_scenario(8);
  scenario.pipeline.batch = 1;
  const RunResult plain = simulated(scenario, 64_MiB);
  scenario.prebuilt_writes = true;
  const RunResult prebuilt = simulated(scenario, 64_MiB);
  const CpuConstants& cpu = scenario.calibration.cpu;
  const auto chunks = static_cast<double>(64_MiB / scenario.compile.chunk_size);
  EXPECT_NEAR(
      (plain.submit - prebuilt.submit) / (chunks * (cpu.post_write - cpu.post_prebuilt_write)), 1.0,
      1e-6);
}

TEST(Simulate, SavedPlanTakesTheTimeOfThePatternItCameFrom) {
  Scenario scenario = hoccl_scenario(8);
  scenario.compile.rails = 4;
  const Seconds compiled = simulated(scenario, 64_MiB).time;
  scenario.plan = engine::compile(engine::send_recv(16, Rank(0), Rank(8), 64_MiB),
                                  scenario.topology, scenario.compile);
  EXPECT_NEAR(simulated(scenario, 64_MiB).time / compiled, 1.0, 1e-4);
}

TEST(Simulate, UnpipelinedChunksTakeTurnsEndToEnd) {
  Scenario scenario = hoccl_scenario(8);
  switch_pipelining_off(scenario.pipeline, scenario.slots);
  const Bytes chunk = scenario.compile.chunk_size;
  const auto rates = scenario.calibration.rates(scenario.topology);
  const Seconds legs = chunk / rates.nvlink + chunk / rates.nic + chunk / rates.nvlink;
  const std::int64_t chunks = 16;
  const RunResult result = simulated(scenario, chunk * chunks);
  // Never faster than the three legs one after the other.
  EXPECT_GT(result.time, static_cast<double>(chunks) * legs);
  EXPECT_LT(result.time, 1.5 * static_cast<double>(chunks) * legs);
}

TEST(Simulate, OperationThatTimesOutIsARunError) {
  Scenario scenario = hoccl_scenario(8);
  scenario.pipeline.timeout = Seconds(1e-9);
  EXPECT_THROW(simulated(scenario, 32_MiB), RunError);
}

Scenario collective_scenario(const std::string& pattern) {
  Scenario scenario{.topology = engine::preset_topology("h800-2x4"),
                    .calibration = resolve_calibration("h800")};
  scenario.traffic.request.name = pattern;
  scenario.traffic.request.in_place = true;
  scenario.compile.forwarding = engine::Forwarding::kBalanced;
  scenario.compile.chunk_size = 256_KiB;
  return scenario;
}

TEST(Simulate, AllGatherCrossesTheWireOncePerNode) {
  // Of 8 MiB each of two nodes has one half; out of place nothing more crosses.
  Scenario scenario = collective_scenario("allgather");
  EXPECT_EQ(simulated(scenario, 8_MiB).link_bytes->nic, 8_MiB);
  scenario.traffic.request.in_place = false;
  EXPECT_EQ(simulated(scenario, 8_MiB).link_bytes->nic, 8_MiB);
}

TEST(Simulate, AllToAllSendsEveryBlockToItsRank) {
  // 4 of 8 blocks of 1 MiB leave the node of each rank; 3 stay in it, and those that leave cross
  // NVLink on both sides.
  const RunResult result = simulated(collective_scenario("alltoall"), 8_MiB);
  EXPECT_EQ(result.link_bytes->nic, 8 * 4 * 1_MiB);
  EXPECT_EQ(result.link_bytes->nvlink, 8 * (3 + 2 * 4) * 1_MiB);
  EXPECT_EQ(result.message, 8_MiB);
}

TEST(Simulate, FlowsOfTheUsersAreRunAsTheyAre) {
  Scenario scenario = collective_scenario("alltoall");
  const auto pattern =
      std::make_shared<engine::Pattern>(engine::Pattern{.name = "mine",
                                                        .rank_count = 8,
                                                        .message_size = 3_MiB,
                                                        .size_meaning = "bytes",
                                                        .flows = {{.source = Rank(1),
                                                                   .target = Rank(4),
                                                                   .source_offset = 0_B,
                                                                   .target_offset = 7_B,
                                                                   .size = 3_MiB,
                                                                   .more_targets = {Rank(6)}}}});
  scenario.traffic = {};
  scenario.traffic.flows = pattern;
  EXPECT_EQ(simulated(scenario, 3_MiB).link_bytes->nic, 3_MiB);
}

TEST(Simulate, BalancedBoundIsForCollectivesOfOurs) {
  EXPECT_TRUE(simulated(collective_scenario("alltoall"), 1_MiB).balanced_bound);
  Scenario nccl = hoccl_scenario(8);
  nccl.system = "nccl:4sm";
  EXPECT_FALSE(simulated(nccl, 1_MiB).balanced_bound);
}

TEST(Scenario, IsCheckedBeforeAnythingIsSimulated) {
  const std::vector sizes = {1_MiB};
  EXPECT_NO_THROW(require_runnable(hoccl_scenario(8), sizes));
  Scenario rails = hoccl_scenario(8);
  rails.compile.rails = 8;
  EXPECT_THROW(require_runnable(rails, sizes), engine::ConfigError);
  Scenario system = hoccl_scenario(8);
  system.system = "mpi";
  EXPECT_THROW(require_runnable(system, sizes), engine::ConfigError);
  Scenario plan = hoccl_scenario(8);
  plan.system = "nccl:4sm";
  plan.plan = engine::Plan{};
  EXPECT_THROW(require_runnable(plan, sizes), engine::ConfigError);
  EXPECT_THROW(require_runnable(hoccl_scenario(99), sizes), engine::ConfigError);
}

}  // namespace
}  // namespace hoccl::sim
