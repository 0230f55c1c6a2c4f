#include <gtest/gtest.h>

#include "tests/sim/fabric/fixture.h"

namespace hoccl::sim {
namespace {

using engine::Bytes;
using engine::BytesPerSecond;
using engine::CopiesDone;
using engine::CopyClass;
using engine::Lane;
using engine::Seconds;
using namespace engine::literals;

constexpr Lane kToHost{CopyClass::kDeviceToHost, 0};
constexpr Lane kFromHost{CopyClass::kHostToDevice, 0};

class MachineLimits : public HandDriven {
 protected:
  /// Of a copy that is alone in its batch, until nothing moves any more.
  Seconds copy_time(CopyClass copy_class, Seconds transfer) {
    const CopyEngineConstants& engine = constants_.copy_engine_of(copy_class);
    return single_copy_cost(copy_class) + engine.launch_latency + engine.setup + transfer +
           engine.completion_latency;
  }
  engine::Region buffer(int rank, Bytes size) {
    return {fabric_->allocate(engine::Rank(rank), size), 0_B, size};
  }
  void post(int rank, Lane lane, engine::Region source, engine::Region target) {
    port(rank).post_copy(lane, copy(source, target));
    port(rank).flush();
  }
};

TEST_F(MachineLimits, OneDirectionOfPcieHasItsOneWayRate) {
  start("h200-1x1");
  post(0, kToHost, buffer(0, 64_MiB), send_slot(0, 0, 64_MiB));
  const Seconds end = copy_time(CopyClass::kDeviceToHost, 64_MiB / topology_->pcie().one_way);
  EXPECT_NEAR(fabric_->run() / end, 1.0, kRounding);
}

TEST_F(MachineLimits, EachDirectionHasTheConstantsOfItsOwnEngine) {
  start("h200-1x1", {"copy_engine_h2d.setup=7us", "copy_engine_h2d.launch_latency=3us",
                     "copy_engine_h2d.completion_latency=2us", "cpu.post_copy_h2d=5us",
                     "copy_engine_d2h.setup=11us", "copy_engine.setup=13us"});
  post(0, kFromHost, receive_slot(0, 0, 64_MiB), buffer(0, 64_MiB));
  const Seconds end = 5_us + 3_us + 7_us + 64_MiB / topology_->pcie().one_way + 2_us;
  EXPECT_NEAR(fabric_->run() / end, 1.0, kRounding);
}

TEST_F(MachineLimits, BatchesOfEachDirectionCostTheCpuWhatTheirClassSays) {
  start("h200-1x1", {"cpu.post_batch_h2d=5us", "cpu.post_copy_in_batch_h2d=2us",
                     "cpu.post_batch_d2h=7us", "cpu.post_batch=11us"});
  const engine::Region target = buffer(0, 2_MiB);
  for (int half = 0; half < 2; ++half) {
    port(0).post_copy(kFromHost, copy(receive_slot(0, half, 1_MiB),
                                      {target.buffer, 1_MiB * std::int64_t{half}, 1_MiB}));
  }
  port(0).flush();
  EXPECT_NEAR(port(0).cpu_account().of(CpuPart::kPostCopy) /
                  (5_us + 2.0 * 2_us + constants_.cpu.post_event),
              1.0, kRounding);
}

TEST_F(MachineLimits, BothDirectionsOfPcieShareTheDuplexCapacity) {
  // Both begin at once, so that both end at once.
  start("h200-1x1", {"copy_engine_d2h.setup=2us", "copy_engine_h2d.setup=2us",
                     "cpu.post_copy_d2h=1us", "cpu.post_copy_h2d=1us"});
  // Rank 1 is another process on the same device: other engine, same port.
  post(0, kToHost, buffer(0, 64_MiB), send_slot(0, 0, 64_MiB));
  post(1, kFromHost, receive_slot(1, 0, 64_MiB), buffer(1, 64_MiB));
  const Seconds end = copy_time(CopyClass::kDeviceToHost, 64_MiB / topology_->pcie().duplex_each);
  EXPECT_NEAR(fabric_->run() / end, 1.0, kRounding);
}

TEST_F(MachineLimits, RanksOfOneDeviceShareItsCopyEngine) {
  start("h200-1x1");
  ASSERT_EQ(constants_.copy_engine_d2h.concurrency, 1);
  post(0, kToHost, buffer(0, 16_MiB), send_slot(0, 0, 16_MiB));
  post(1, kToHost, buffer(1, 16_MiB), send_slot(1, 0, 16_MiB));
  const Seconds transfer = 16_MiB / topology_->pcie().one_way;
  const Seconds end =
      copy_time(CopyClass::kDeviceToHost, transfer) + constants_.copy_engine_d2h.setup + transfer;
  EXPECT_NEAR(fabric_->run() / end, 1.0, kRounding);
}

TEST_F(MachineLimits, TheWireCrossesTheGpusPcieWhereItIsShared) {
  start("h200-2x8");
  ASSERT_TRUE(topology_->wire_shares_pcie());
  port(1).post_write(pair(1, 1, 9), write(1, 9, 16_MiB));
  fabric_->run();
  std::int64_t port_bytes = 0;
  for (const LinkUse& link : fabric_->link_use()) {
    if (link.name == "gpu 1 pcie to host" || link.name == "gpu 9 pcie from host" ||
        link.name == "gpu 1 pcie both ways" || link.name == "gpu 9 pcie both ways") {
      EXPECT_EQ(link.carried, 16_MiB) << link.name;
      port_bytes += link.carried.count();
    }
  }
  EXPECT_EQ(port_bytes, 4 * (16_MiB).count());
}

TEST_F(MachineLimits, TheWireDoesNotCrossPcieWhereItIsNotShared) {
  start("h800-2x8");
  port(1).post_write(pair(1, 1, 9), write(1, 9, 16_MiB));
  fabric_->run();
  for (const LinkUse& link : fabric_->link_use()) {
    const bool is_nic = link.name == "nic 1 send" || link.name == "nic 9 receive";
    EXPECT_EQ(link.carried, is_nic ? 16_MiB : 0_B) << link.name;
  }
}

TEST_F(MachineLimits, OversubscribedUplinksAreShared) {
  // Two leaf switches, one node below each, whose uplinks carry half of what the NICs can send.
  engine::TopologyDescription description = engine::preset_topology("h800-2x8").description();
  description.switch_tiers = {
      {.name = "leaf", .nodes_per_switch = 1, .oversubscription = 2.0, .rail_aligned = false}};
  start(engine::Topology(description));
  constexpr int kNics = 8;
  for (int nic = 0; nic < kNics; ++nic) {
    port(nic).post_write(pair(nic, nic, nic + kNics), write(nic, nic + kNics, 16_MiB));
  }
  const BytesPerSecond uplink = nic_rate() * (kNics / 2.0);
  const QueuePairConstants& constants = constants_.queue_pair;
  const Seconds end = constants_.cpu.post_write + constants.message_overhead +
                      (16_MiB * std::int64_t{kNics}) / uplink + constants.wire_latency +
                      constants.completion_latency;
  EXPECT_NEAR(fabric_->run() / end, 1.0, kRounding);
}

}  // namespace
}  // namespace hoccl::sim
