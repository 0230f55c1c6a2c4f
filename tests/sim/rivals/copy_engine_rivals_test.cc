// nccl:zero and vccl: what they do beside the plan.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "engine/base/config_error.h"
#include "sim/fabric/sim_fabric.h"
#include "sim/rivals/nccl_zero.h"
#include "sim/rivals/vccl.h"
#include "sim/run/simulate.h"
#include "sim/run/system_kind.h"
#include "tests/sim/rivals/nccl_scenario.h"

namespace hoccl::sim {
namespace {

using engine::Bytes;
using engine::ConfigError;
using engine::Rank;
using engine::Seconds;
using engine::StreamId;
using namespace engine::literals;
using testing::HasSubstr;
using testing::IsEmpty;

Scenario rival(const char* system, const char* topology, const char* pattern) {
  Scenario scenario = nccl_scenario({.pattern = pattern});
  scenario.topology = engine::preset_topology(topology);
  scenario.system = system;
  scenario.traffic.request.in_place = !engine::is_send_recv(pattern);
  scenario.warmup = 1;
  return scenario;
}

/// One stream per rank, called by hand.
class StreamStepsByHand : public testing::Test {
 public:
  void note(std::uint64_t /*what*/) { ends_.push_back(fabric_.now()); }

 protected:
  GpuStream& stream(int rank, int id = 0) { return fabric_.gpu_stream(Rank(rank), StreamId(id)); }

  const engine::Topology topology_ = engine::preset_topology("h800-1x4");
  SimFabric fabric_{topology_, kH800, SimOptions{}};
  std::vector<Seconds> ends_;
};

/// An item that ends when the steps release it; then the time is noted.
struct Item {
  StreamSteps& steps;
  Rank rank;
  GpuStream& stream;
  bool is_before;
  void reached() { is_before ? steps.before(rank, stream) : steps.after(rank, stream); }
};

TEST_F(StreamStepsByHand, ABarrierEndsForAllWhenTheLastHasCome) {
  NcclZeroBarriers barriers(fabric_.clock(), topology_, kH800,
                            {Rank(0), Rank(1), Rank(2), Rank(3)});
  std::vector<std::unique_ptr<Item>> items;
  for (int rank = 0; rank < 4; ++rank) {
    items.push_back(std::make_unique<Item>(Item{barriers, Rank(rank), stream(rank), true}));
    stream(rank).enqueue_kernel(Seconds(rank * 10e-6));
    stream(rank).enqueue_external(Callback::to<&Item::reached>(*items.back()));
    stream(rank).enqueue_signal(Callback::to<&StreamStepsByHand::note>(*this));
  }
  fabric_.run();
  const Seconds expected = 30_us + kH800.nccl_zero.barrier + 4 * kH800.nccl_zero.flag_copy;
  ASSERT_EQ(ends_.size(), 4U);
  for (const Seconds end : ends_) EXPECT_NEAR(end / expected, 1.0, kRounding);
}

TEST_F(StreamStepsByHand, HostFunctionsOfARanksStreamsWaitForEachOther) {
  VcclHostFunctions functions(fabric_.clock(), 4, kH800, {});
  std::vector<std::unique_ptr<Item>> items;
  const auto enqueue = [&](int rank, int id) {
    GpuStream& on = stream(rank, id);
    for (const bool is_before : {true, false}) {
      items.push_back(std::make_unique<Item>(Item{functions, Rank(rank), on, is_before}));
      on.enqueue_external(Callback::to<&Item::reached>(*items.back()));
      if (is_before) on.enqueue_kernel(1_ms);
    }
    on.enqueue_signal(Callback::to<&StreamStepsByHand::note>(*this));
  };
  enqueue(0, 0);
  enqueue(0, 1);
  enqueue(1, 0);
  fabric_.run();
  const Seconds one = 1_ms + kH800.vccl.host_function_start - kH800.gate.ready_latency +
                      kH800.vccl.host_function_end - kH800.gate.resume_latency;
  ASSERT_EQ(ends_.size(), 3U);
  EXPECT_NEAR(ends_[0] / one, 1.0, kRounding);
  EXPECT_NEAR(ends_[1] / one, 1.0, kRounding) << "another process has a thread of its own";
  EXPECT_NEAR(ends_[2] / (2 * one), 1.0, kRounding);
}

TEST(NcclZero, MovesWithoutSmsOnceOverEveryLink) {
  const RunResult gathered = simulated(rival("nccl:zero", "h800-2x8", "allgather"), 64_MiB);
  EXPECT_EQ(gathered.sms, 0);
  EXPECT_EQ(gathered.link_bytes->nic, 64_MiB);          // each block to the other node
  EXPECT_EQ(gathered.link_bytes->nvlink, 14 * 64_MiB);  // each block to seven peers of two nodes
  const RunResult exchanged = simulated(rival("nccl:zero", "h800-2x8", "alltoall"), 64_MiB);
  EXPECT_EQ(exchanged.sms, 0);
  EXPECT_EQ(exchanged.link_bytes->nic, 8 * 64_MiB);
  EXPECT_EQ(exchanged.link_bytes->nvlink, 7 * 64_MiB);
}

TEST(NcclZero, PaysForTwoBarriers) {
  Scenario scenario = rival("nccl:zero", "h800-1x8", "allgather");
  const Seconds with = simulated(scenario, 2_MiB).time;
  scenario.calibration.set("nccl_zero.barrier=0us");
  scenario.calibration.set("nccl_zero.flag_copy=0us");
  const Seconds without = simulated(scenario, 2_MiB).time;
  const Seconds barriers = 2 * (kH800.nccl_zero.barrier + 8 * kH800.nccl_zero.flag_copy);
  EXPECT_NEAR((with - without) / barriers, 1.0, 1e-6);
}

TEST(NcclZero, RailRingCrossesEveryNodeOnce) {
  Scenario scenario = rival("nccl:zero", "h800-4x8", "allgather");
  scenario.compile.algorithm = engine::Algorithm::kRing;
  const RunResult ring = simulated(scenario, 256_MiB);
  EXPECT_EQ(ring.sms, 0);
  EXPECT_EQ(ring.link_bytes->nic, 3 * 256_MiB);
  scenario.compile.algorithm = engine::Algorithm::kMulticast;
  EXPECT_EQ(simulated(scenario, 256_MiB).link_bytes->nic, ring.link_bytes->nic);
}

TEST(NcclZero, RunsOnAGroup) {
  for (const char* pattern : {"allgather", "alltoall"}) {
    Scenario scenario = rival("nccl:zero", "h800-2x8", pattern);
    scenario.traffic.request.group = {Rank(0), Rank(1), Rank(8)};
    scenario.iterations = 2;
    const RunResult result = simulated(scenario, 3_MiB + 1_B);
    EXPECT_EQ(result.sms, 0);
    EXPECT_GT(result.link_bytes->nic, 0_B);
  }
}

TEST(NcclZero, RunsKernelsWhereItsConditionsDoNotHold) {
  EXPECT_THAT(fallback_reason(rival("nccl:zero", "h800-2x8", "allgather")), IsEmpty());
  Scenario scenario = rival("nccl:zero", "h800-2x8", "alltoallv");
  EXPECT_THAT(fallback_reason(scenario), HasSubstr("only allgather and alltoall"));
  EXPECT_EQ(simulated(scenario, 8_MiB).sms, 8);
  scenario = rival("nccl:zero", "h800-2x8", "alltoall");
  scenario.dynamic_buffers = true;
  EXPECT_THAT(fallback_reason(scenario), HasSubstr("window"));
}

TEST(Vccl, CopiesAMessageWithinANodeAsOne) {
  const RunResult result = simulated(rival("vccl", "h800-1x8", "sendrecv"), 256_MiB);
  EXPECT_EQ(result.sms, 0);
  EXPECT_NEAR(result.submit / (kH800.cpu.post_peer.alone + kH800.cpu.post_event), 1.0, kRounding);
}

TEST(Vccl, RegistersDynamicBuffersInEveryOperation) {
  Scenario scenario = rival("vccl", "h800-2x8", "sendrecv");
  scenario.traffic.request.target = Rank(8);
  const Seconds known = simulated(scenario, 2_MiB).time;
  scenario.dynamic_buffers = true;
  const Seconds dynamic = simulated(scenario, 2_MiB).time;
  EXPECT_NEAR((dynamic - known) / kH800.registration.latency, 1.0, 1e-6);
  scenario.busy_driver = 1.0;
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    scenario.seed = seed;
    const Seconds busy = simulated(scenario, 2_MiB).time - known;
    EXPECT_GE(busy, kH800.registration.busy_latency - 1_us);
    EXPECT_LE(busy, kH800.registration.busy_latency + kH800.registration.busy_spread + 1_us);
  }
}

TEST(Vccl, StagesUnregisteredBuffersOnSms) {
  Scenario scenario = rival("vccl", "h800-2x8", "sendrecv");
  scenario.traffic.request.target = Rank(8);
  scenario.unregistered_buffers = true;
  EXPECT_THAT(fallback_reason(scenario), HasSubstr("on SMs"));
  const VcclConstants& vccl = kH800.vccl;
  const Bytes size = vccl.staging_slot * 2;  // one slot per channel
  const RunResult result = simulated(scenario, size);
  EXPECT_EQ(result.sms, 2);
  EXPECT_EQ(result.link_bytes->nic, size);
  EXPECT_EQ(result.link_bytes->nvlink, 0_B);
  const Seconds copy = vccl.staging_start + vccl.staging_slot / vccl.staging_copy_rate;
  const Seconds wire = size / kH800.rates(scenario.topology).nic;  // both share the NIC
  const Seconds least = vccl.host_function_start + 2 * copy + wire + vccl.host_function_end;
  EXPECT_GT(result.time, least);
  EXPECT_LT(result.time, least + 15_us);
  scenario.traffic.request.target = Rank(9);
  EXPECT_EQ(simulated(scenario, size).link_bytes->nvlink, 0_B) << "no PXN";
}

TEST(Vccl, RunsKernelsForWhatIsNoSend) {
  const Scenario scenario = rival("vccl", "h800-2x8", "allgather");
  EXPECT_THAT(fallback_reason(scenario), HasSubstr("only sends and receives"));
  EXPECT_EQ(simulated(scenario, 8_MiB).sms,
            simulated(nccl_scenario({.channels = 8, .pattern = "allgather"}), 8_MiB).sms);
}

TEST(SystemKind, IsReadStrictly) {
  EXPECT_EQ(kind_of("hoccl"), SystemKind::kHoccl);
  EXPECT_EQ(kind_of("nccl:8sm"), SystemKind::kNcclKernels);
  EXPECT_EQ(kind_of("nccl:zero"), SystemKind::kNcclZero);
  EXPECT_EQ(kind_of("vccl"), SystemKind::kVccl);
  for (const char* wrong : {"", "nccl", "nccl:", "nccl:zer", "NCCL:zero", "vccl:4sm", "mpi"}) {
    EXPECT_THROW(kind_of(wrong), ConfigError) << wrong;
  }
}

TEST(SystemKind, RefusesWhatIsNotModelled) {
  Scenario scenario = rival("nccl:zero", "h800-2x8", "alltoall");
  scenario.traffic.request.in_place = false;
  const std::vector sizes = {1_MiB};
  EXPECT_THROW(require_runnable(scenario, sizes), ConfigError);
  scenario.traffic.request.in_place = true;
  EXPECT_NO_THROW(require_runnable(scenario, sizes));
  scenario.topology = engine::preset_topology("h200-1x1").with_ranks(2);
  EXPECT_THROW(require_runnable(scenario, sizes), ConfigError);
}

}  // namespace
}  // namespace hoccl::sim
