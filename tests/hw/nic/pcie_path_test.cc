#include "hw/nic/pcie_path.h"

#include <gtest/gtest.h>

#include <string>

namespace hoccl::hw {
namespace {

// A host bridge, a root port, a switch's upstream port and two of its downstream ports.
const std::string kRootPort = "/sys/devices/pci0000:00/0000:00:01.0";
const std::string kSwitch = kRootPort + "/0000:01:00.0";
const std::string kGpu = kSwitch + "/0000:02:00.0/0000:03:00.0";
const std::string kNic = kSwitch + "/0000:02:01.0/0000:04:00.0";

TEST(PcieDistance, IsLeastBelowOneSwitch) {
  EXPECT_EQ(pcie_distance(kGpu, kNic, 0, 0), PcieDistance::kSameSwitch);
  EXPECT_EQ(pcie_distance(kNic, kGpu, 0, 0), PcieDistance::kSameSwitch);
  // Also by way of a second switch below the first.
  const std::string deeper = kSwitch + "/0000:02:02.0/0000:05:00.0/0000:06:00.0/0000:07:00.0";
  EXPECT_EQ(pcie_distance(kGpu, deeper, 0, 0), PcieDistance::kSameSwitch);
}

TEST(PcieDistance, IsThatOfTheRootComplexWhereOnlyTheHostBridgeOrARootPortIsCommon) {
  const std::string other_port = "/sys/devices/pci0000:00/0000:00:02.0/0000:08:00.0";
  EXPECT_EQ(pcie_distance(kGpu, other_port, 0, 0), PcieDistance::kSameRootComplex);
  const std::string on_the_bridge = "/sys/devices/pci0000:00/0000:00:05.0";
  EXPECT_EQ(pcie_distance(kGpu, on_the_bridge, 0, 0), PcieDistance::kSameRootComplex);
  // Two functions of one card at a root port.
  EXPECT_EQ(pcie_distance(kRootPort + "/0000:01:00.0", kRootPort + "/0000:01:00.1", 0, 0),
            PcieDistance::kSameRootComplex);
}

TEST(PcieDistance, IsThatOfTheNumaNodesAcrossHostBridges) {
  const std::string other_bridge = "/sys/devices/pci0000:80/0000:80:01.0/0000:81:00.0";
  EXPECT_EQ(pcie_distance(kGpu, other_bridge, 1, 1), PcieDistance::kSameNuma);
  EXPECT_EQ(pcie_distance(kGpu, other_bridge, 0, 1), PcieDistance::kFar);
  EXPECT_EQ(pcie_distance(kGpu, other_bridge, -1, 1), PcieDistance::kUnknown);
  EXPECT_EQ(pcie_distance(kGpu, other_bridge, 1, -1), PcieDistance::kUnknown);
  // A domain is part of the host bridge's name, the bus alone says nothing.
  const std::string other_domain = "/sys/devices/pci0001:00/0001:00:01.0/0001:01:00.0";
  EXPECT_EQ(pcie_distance(kGpu, other_domain, 0, 1), PcieDistance::kFar);
}

TEST(PcieDistance, CountsBridgesFromTheLastHostBridge) {
  // Behind a volume management device, and where the host bridge is itself a device's child.
  const std::string bridge = "/sys/devices/pci0000:00/0000:00:0e.0/pci10000:00";
  EXPECT_EQ(pcie_distance(bridge + "/10000:00:01.0/10000:01:00.0",
                          bridge + "/10000:00:02.0/10000:02:00.0", 0, 0),
            PcieDistance::kSameRootComplex);
}

TEST(PcieDistance, IsUnknownOfWhatIsNoPciDevice) {
  EXPECT_EQ(pcie_distance("", kGpu, 0, 0), PcieDistance::kUnknown);
  EXPECT_EQ(pcie_distance(kNic, "", 0, 0), PcieDistance::kUnknown);
  EXPECT_EQ(pcie_distance("", "", -1, -1), PcieDistance::kUnknown);
}

TEST(PcieDistance, IsOrderedNearestFirst) {
  EXPECT_LT(PcieDistance::kSameSwitch, PcieDistance::kSameRootComplex);
  EXPECT_LT(PcieDistance::kSameRootComplex, PcieDistance::kSameNuma);
  EXPECT_LT(PcieDistance::kSameNuma, PcieDistance::kFar);
  EXPECT_LT(PcieDistance::kFar, PcieDistance::kUnknown);
  EXPECT_EQ(to_string(PcieDistance::kSameSwitch), "same PCIe switch");
}

}  // namespace
}  // namespace hoccl::hw
