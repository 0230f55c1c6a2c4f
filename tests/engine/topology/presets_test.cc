#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "engine/base/config_error.h"
#include "engine/topology/topology.h"

namespace hoccl::engine {
namespace {

using namespace literals;
using ::testing::Each;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

TEST(Presets, H800IsThePapersMachine) {
  const Topology topology = preset_topology("h800-4x8");
  EXPECT_EQ(topology.name(), "h800-4x8");
  EXPECT_EQ(topology.node_count(), 4);
  EXPECT_EQ(topology.rank_count(), 32);
  EXPECT_EQ(topology.rail_count(), 8);
  EXPECT_EQ(topology.nvlink().out, 200_GBps);
  EXPECT_EQ(topology.nvlink().in, 200_GBps);
  EXPECT_EQ(topology.staging(), StagingKind::kPeer);
  EXPECT_EQ(topology.wire(), WireKind::kNic);
  for (const Nic& nic : topology.nics()) {
    EXPECT_EQ(nic.rate, BytesPerSecond(400e9 / 8));
    // One NIC per GPU, so the rail is the index of the GPU.
    EXPECT_EQ(nic.rail, topology.gpu(nic.gpu).index);
    EXPECT_EQ(nic.node, topology.gpu(nic.gpu).node);
  }
}

TEST(Presets, H200HasTheFullNvlinkAndSharesItsPciePortWithTheNic) {
  const Topology topology = preset_topology("h200-2x8");
  EXPECT_EQ(topology.nvlink().out, BytesPerSecond(900e9 / 2));
  EXPECT_EQ(topology.pcie().one_way, 55.3_GBps);
  EXPECT_EQ(topology.pcie().duplex_each, 49.5_GBps);
  EXPECT_TRUE(topology.wire_shares_pcie());
}

TEST(Presets, SingleH200IsTwoLogicalNodesOfOneDevice) {
  const Topology topology = preset_topology("h200-1x1");
  EXPECT_EQ(topology.rank_count(), 2);
  EXPECT_EQ(topology.node_count(), 2);
  EXPECT_EQ(topology.device_count(), 1);
  EXPECT_EQ(topology.gpu(GpuId(0)).physical, topology.gpu(GpuId(1)).physical);
  EXPECT_EQ(topology.staging(), StagingKind::kHost);
  EXPECT_EQ(topology.wire(), WireKind::kMap);
  EXPECT_EQ(topology.pcie().one_way, 55.3_GBps);
  EXPECT_DOUBLE_EQ(topology.pcie().duplex_sum().value(), 2 * 49.5e9);
  EXPECT_TRUE(topology.symmetric_partner(GpuId(0)).is_none());
  EXPECT_TRUE(std::isinf(topology.nic(NicId(0)).rate.value()));
}

TEST(Presets, SingleH200HasAsManyLogicalNodesAsRanks) {
  const Topology two = preset_topology("h200-1x1");
  for (const int count : {1, 4, 64}) {
    const Topology topology = two.with_ranks(count);
    EXPECT_EQ(topology.rank_count(), count);
    EXPECT_EQ(topology.node_count(), count);
    EXPECT_EQ(topology.device_count(), 1);
    EXPECT_EQ(topology.nic_count(), count);
    const Rank last(count - 1);
    EXPECT_EQ(topology.node_of(last), NodeId(count - 1));
    EXPECT_EQ(topology.host_of(topology.place_of(topology.gpu_of(last))), last);
  }
  EXPECT_EQ(two.with_ranks(4).with_ranks(2).rank_count(), 2);
}

TEST(Presets, NvlRackIsOneNvlinkDomain) {
  const Topology topology = preset_topology("gb200-nvl72");
  EXPECT_EQ(topology.node_count(), 1);
  EXPECT_EQ(topology.rank_count(), 72);
  EXPECT_EQ(topology.nic_count(), 72);
  EXPECT_EQ(topology.nvlink().in, BytesPerSecond(1.8e12 / 2));
  EXPECT_EQ(topology.nic(NicId(71)).rate, 50_GBps);
}

TEST(Presets, ReachTheLargestMachine) {
  const Topology topology = preset_topology("h800-128x72");
  EXPECT_EQ(topology.gpu_count(), 128 * 72);
  EXPECT_EQ(preset_topology("h800-1x1").rank_count(), 1);
}

TEST(Presets, NameTheSourceOfEveryValue) {
  for (const char* name : {"h800-2x8", "h200-2x8", "h200-1x1", "gb200-nvl72"}) {
    const Topology topology = preset_topology(name);
    EXPECT_THAT(topology.description().sources, Not(IsEmpty())) << name;
    EXPECT_THAT(topology.description().sources, Each(Field(&SourcedValue::source, Not(IsEmpty()))))
        << name;
  }
}

TEST(Presets, ListTheSourcesOfTheValuesTheyUse) {
  const Topology topology = preset_topology("h800-2x8");
  for (const SourcedValue& listed : topology.description().sources) {
    if (listed.key == "nvlink.out") {
      EXPECT_EQ(parse_rate(listed.value), topology.nvlink().out);
      EXPECT_THAT(listed.source, ::testing::HasSubstr("HOCCL paper"));
      return;
    }
  }
  FAIL() << "nvlink.out has no source";
}

class UnknownPreset : public ::testing::TestWithParam<std::string> {};

TEST_P(UnknownPreset, IsRefusedWithTheKnownOnes) {
  const std::string& name = GetParam();
  try {
    resolve_topology(name);
    FAIL() << "accepted " << name;
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.what(), "topology '" + name +
                                "': expected h800-<nodes>x<gpus>, h200-<nodes>x<gpus>, h200-1x1, "
                                "gb200-nvl72 or a file ending in .toml");
  }
}

INSTANTIATE_TEST_SUITE_P(Names, UnknownPreset,
                         ::testing::Values("", "h100-2x8", "h800", "h800-", "h800-2", "h800-2x",
                                           "h800-x8", "h800-0x8", "h800-2x0", "h800-02x8",
                                           "h800-2x8x1", "h800-+2x8", "h800--2x8", "h800-2X8",
                                           "h800-2x8 ", "H800-2x8", "gb200-nvl36", "h8002x8",
                                           "h800-99999999999x8"));

class OversizedPreset : public ::testing::TestWithParam<std::string> {};

TEST_P(OversizedPreset, IsRefusedWithTheBounds) {
  const std::string& name = GetParam();
  try {
    resolve_topology(name);
    FAIL() << "accepted " << name;
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.what(),
              "topology '" + name + "': expected 1 to 128 nodes and 1 to 72 GPUs a node");
  }
}

INSTANTIATE_TEST_SUITE_P(Names, OversizedPreset,
                         ::testing::Values("h800-129x8", "h200-2x73", "h800-4096x1"));

}  // namespace
}  // namespace hoccl::engine
