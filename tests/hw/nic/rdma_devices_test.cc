#include <gtest/gtest.h>

#include "hw/nic/gid_choice.h"
#include "hw/nic/nvidia_gpus.h"
#include "hw/nic/read_rdma_devices.h"
#include "hw/nic/sysfs.h"
#include "tests/hw/nic/fake_host.h"

namespace hoccl::hw {
namespace {

const std::string kZeroGid = "0000:0000:0000:0000:0000:0000:0000:0000";
const std::string kLinkLocalGid = "fe80:0000:0000:0000:0000:00ff:fe00:0001";

TEST(RdmaDevices, AreNoneWithoutTheKernelsFolder) {
  const FakeHost host;
  EXPECT_TRUE(read_rdma_devices(host.sys()).empty());
  EXPECT_TRUE(read_rdma_devices(host.sys() / "nowhere").empty());
}

TEST(RdmaDevices, AreReadInTheOrderOfTheirNamesAndNumbers) {
  const FakeHost host;
  for (const char* name : {"mlx5_10", "mlx5_2", "mlx5_0"}) host.add_rdma_device(name);
  host.add_port("mlx5_2", 10);
  host.add_port("mlx5_2", 2);
  const std::vector<RdmaDevice> devices = read_rdma_devices(host.sys());
  ASSERT_EQ(devices.size(), 3U);
  EXPECT_EQ(devices[0].name, "mlx5_0");
  EXPECT_EQ(devices[1].name, "mlx5_2");
  EXPECT_EQ(devices[2].name, "mlx5_10");
  ASSERT_EQ(devices[1].ports.size(), 2U);
  EXPECT_EQ(devices[1].ports[0].number, 2);
  EXPECT_EQ(devices[1].ports[1].number, 10);
}

TEST(RdmaDevices, SayWhatTheirPortsAre) {
  const FakeHost host;
  host.add_rdma_device("mlx5_0");
  host.add_port("mlx5_0", 1, "4: ACTIVE", "InfiniBand");
  host.add_port("mlx5_0", 2, "1: DOWN", "Ethernet");
  const std::vector<RdmaPort> ports = read_rdma_devices(host.sys()).at(0).ports;
  ASSERT_EQ(ports.size(), 2U);
  EXPECT_TRUE(ports[0].active);
  EXPECT_TRUE(ports[0].is_infiniband);
  EXPECT_EQ(ports[0].lid, 0x1f);
  EXPECT_EQ(ports[0].rate, "100 Gb/sec (4X EDR)");
  EXPECT_FALSE(ports[1].active);
  EXPECT_EQ(ports[1].state, "1: DOWN");
  EXPECT_FALSE(ports[1].is_infiniband);
}

TEST(RdmaDevices, SkipGidsThatAreNotInUse) {
  const FakeHost host;
  host.add_rdma_device("rxe0");
  host.add_port("rxe0", 1);
  host.add_gid("rxe0", 1, 0, kLinkLocalGid, "IB/RoCE v1", "v0");
  host.add_gid("rxe0", 1, 1, kLinkLocalGid, "RoCE v2", "v0");
  host.add_gid("rxe0", 1, 2, kZeroGid, "");
  host.add_gid("rxe0", 1, 3, kZeroGid, "RoCE v2");
  host.add_gid("rxe0", 1, 4, kLinkLocalGid, "");  // it went while it was read
  host.add_gid("rxe0", 1, 5, "no GID", "RoCE v2");
  host.add_gid("rxe0", 1, 10, "0000:0000:0000:0000:0000:ffff:0a4d:0001");
  const std::vector<GidEntry> gids = read_rdma_devices(host.sys()).at(0).ports.at(0).gids;
  ASSERT_EQ(gids.size(), 3U);
  EXPECT_EQ(gids[0].index, 0);
  EXPECT_EQ(gids[0].kind, GidKind::kRoceV1);
  EXPECT_EQ(gids[0].net_device, "v0");
  EXPECT_EQ(gids[1].kind, GidKind::kRoceV2);
  EXPECT_EQ(gid_text(gids[1].gid), "fe80::ff:fe00:1");
  EXPECT_EQ(gids[2].index, 10);
  EXPECT_EQ(gid_text(gids[2].gid), "::ffff:10.77.0.1");
}

TEST(RdmaDevices, TakeGidsOfInfiniBandForThatWhateverTheirType) {
  const FakeHost host;
  host.add_rdma_device("mlx5_0");
  host.add_port("mlx5_0", 1, "4: ACTIVE", "InfiniBand");
  host.add_gid("mlx5_0", 1, 0, kLinkLocalGid, "IB/RoCE v1", "");
  host.add_gid("mlx5_0", 1, 1, kLinkLocalGid, "");
  const std::vector<GidEntry> gids = read_rdma_devices(host.sys()).at(0).ports.at(0).gids;
  ASSERT_EQ(gids.size(), 2U);
  EXPECT_EQ(gids[0].kind, GidKind::kInfiniBand);
  EXPECT_EQ(gids[1].kind, GidKind::kInfiniBand);
}

TEST(RdmaDevices, ArePortsWithoutAnyFiles) {
  const FakeHost host;
  host.add_rdma_device("rxe0");
  host.write("sys/class/infiniband/rxe0/ports/1/unknown", "");
  host.write("sys/class/infiniband/rxe0/ports/notes/state", "4: ACTIVE");
  const std::vector<RdmaPort> ports = read_rdma_devices(host.sys()).at(0).ports;
  ASSERT_EQ(ports.size(), 1U);
  EXPECT_FALSE(ports[0].active);
  EXPECT_EQ(ports[0].state, "unknown");
  EXPECT_EQ(ports[0].lid, 0);
  EXPECT_TRUE(ports[0].gids.empty());
}

TEST(RdmaDevices, KnowTheirPlaceOnThePciBus) {
  const FakeHost host;
  const std::string path = host.add_pci_device("pci0000:00/0000:00:01.0/0000:01:00.0", 1);
  host.add_rdma_device("mlx5_0", "pci0000:00/0000:00:01.0/0000:01:00.0");
  host.add_rdma_device("mlx5_1", "pci0000:00/0000:00:01.0/0000:01:00.0/mlx5_core.sf.4");
  host.add_rdma_device("rxe0");
  const std::vector<RdmaDevice> devices = read_rdma_devices(host.sys());
  ASSERT_EQ(devices.size(), 3U);
  EXPECT_EQ(devices[0].pci_path, path);
  EXPECT_EQ(devices[0].numa_node, 1);
  EXPECT_EQ(devices[1].pci_path, path);  // an auxiliary device's is its parent's
  EXPECT_EQ(devices[2].pci_path, "");
  EXPECT_EQ(devices[2].numa_node, -1);
}

TEST(NvidiaGpus, AreDisplaysOfThatVendorOnly) {
  const FakeHost host;
  EXPECT_TRUE(read_nvidia_gpus(host.sys()).empty());
  const std::string bridge = "pci0000:00/0000:00:01.0/";
  for (const char* address : {"0000:03:00.0", "0000:01:00.0", "0000:02:00.0", "0000:04:00.0"}) {
    host.add_gpu(bridge + address, 1);
  }
  host.write("sys/bus/pci/devices/0000:02:00.0/class", "0x068000");  // an NVSwitch
  host.write("sys/bus/pci/devices/0000:04:00.0/vendor", "0x8086");
  const std::vector<NvidiaGpu> gpus = read_nvidia_gpus(host.sys());
  ASSERT_EQ(gpus.size(), 2U);
  EXPECT_EQ(gpus[0].pci_path, (host.sys() / "devices" / bridge / "0000:01:00.0").string());
  EXPECT_EQ(gpus[0].numa_node, 1);
  EXPECT_TRUE(gpus[1].pci_path.ends_with("0000:03:00.0"));
}

TEST(NumaNode, IsUnknownWhereTheKernelDoesNotSay) {
  const FakeHost host;
  EXPECT_EQ(read_numa_node(""), -1);
  EXPECT_EQ(read_numa_node(host.sys()), -1);
  EXPECT_EQ(read_numa_node(host.add_pci_device("pci0000:00/0000:00:01.0", -1)), -1);
  EXPECT_EQ(read_numa_node(host.add_pci_device("pci0000:00/0000:00:02.0", 3)), 3);
}

}  // namespace
}  // namespace hoccl::hw
