#include "hw/nic/nic_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "engine/base/config_error.h"
#include "tests/hw/nic/fake_host.h"

namespace hoccl::hw {
namespace {

using engine::ConfigError;
using testing::HasSubstr;
using testing::StartsWith;
using testing::ThrowsMessage;

RdmaPort port_in_state(int number, const std::string& state = "4: ACTIVE") {
  return {.number = number, .active = state == "4: ACTIVE", .state = state};
}

RdmaDevice software_device(const std::string& name) {
  return {.name = name, .ports = {port_in_state(1)}};
}

RdmaDevice pci_device(const std::string& name, const std::string& path, int numa_node = 0) {
  return {.name = name, .pci_path = path, .numa_node = numa_node, .ports = {port_in_state(1)}};
}

const std::vector<RdmaDevice> kFour = {software_device("rxe0"), software_device("rxe1"),
                                       software_device("rxe2"), software_device("rxe3")};

/// As "rxe0:1 rxe1:1".
std::string chosen(const std::string& spec, int node, int nics,
                   const std::vector<RdmaDevice>& devices,
                   const std::vector<std::string>& gpus = {}) {
  std::string text;
  for (const NicPort& nic : choose_nics(spec, node, nics, devices, gpus)) {
    text += (text.empty() ? "" : " ") + nic.device + ":" + std::to_string(nic.port);
  }
  return text;
}

TEST(NicChoice, TakesTheListOfItsNodeInTurn) {
  const std::string spec = "rxe0,rxe2/rxe1,rxe3";
  EXPECT_EQ(chosen(spec, 0, 2, kFour), "rxe0:1 rxe2:1");
  EXPECT_EQ(chosen(spec, 1, 2, kFour), "rxe1:1 rxe3:1");
  EXPECT_EQ(chosen(spec, 2, 2, kFour), "rxe0:1 rxe2:1");
  EXPECT_EQ(chosen(spec, 3, 1, kFour), "rxe1:1");
  EXPECT_EQ(chosen(spec, 0, 5, kFour), "rxe0:1 rxe2:1 rxe0:1 rxe2:1 rxe0:1");
  EXPECT_EQ(chosen("rxe3", 7, 2, kFour), "rxe3:1 rxe3:1");
}

TEST(NicChoice, TakesTheNamedPortOrTheFirstActiveOne) {
  const std::vector<RdmaDevice> devices = {
      {.name = "mlx5_0",
       .ports = {port_in_state(1, "1: DOWN"), port_in_state(2), port_in_state(3)}}};
  EXPECT_EQ(chosen("mlx5_0:3", 0, 1, devices), "mlx5_0:3");
  EXPECT_EQ(chosen("mlx5_0", 0, 1, devices), "mlx5_0:2");
}

TEST(NicChoice, RefusesListsThatNameNoDevice) {
  for (const char* spec : {",", "rxe0,", "/rxe0", "rxe0//rxe1", ":1", "rxe0:", "rxe0:x", "rxe0:0",
                           "rxe0:-1", "rxe0:1x", "rxe0:1:2"}) {
    EXPECT_THAT([&] { choose_nics(spec, 0, 1, kFour, {}); },
                ThrowsMessage<ConfigError>(
                    testing::AllOf(StartsWith("rdma-devices = '" + std::string(spec) + "': "),
                                   HasSubstr("is no device[:port]"), HasSubstr("expected"))))
        << spec;
  }
}

TEST(NicChoice, RefusesWhatThisHostDoesNotHaveAndNamesWhatItHas) {
  const std::vector<RdmaDevice> devices = {
      software_device("rxe0"), {.name = "rxe1", .ports = {port_in_state(1, "1: DOWN")}}};
  const std::string host = "; this host has rxe0:1 (4: ACTIVE), rxe1:1 (1: DOWN)";
  const auto refuses = [&](const std::string& spec, const std::string& why) {
    EXPECT_THAT([&] { choose_nics(spec, 0, 1, devices, {}); },
                ThrowsMessage<ConfigError>("rdma-devices = '" + spec + "': " + why + host));
  };
  refuses("rxe7", "there is no rxe7");
  refuses("rxe0:2", "rxe0 has no port 2");
  refuses("rxe1:1", "rxe1:1 is not active");
  refuses("rxe1", "rxe1 has no active port");
  refuses("rxe0,rxe7", "there is no rxe7");  // also where NIC 1 is not asked for
  EXPECT_THAT([] { choose_nics("rxe0", 0, 1, {}, {}); },
              ThrowsMessage<ConfigError>(
                  "rdma-devices = 'rxe0': there is no rxe0; this host has no RDMA device"));
  EXPECT_THAT([] { choose_nics("rxe0", 0, 1, {{.name = "rxe1"}}, {}); },
              ThrowsMessage<ConfigError>(HasSubstr("this host has rxe1 (no ports)")));
}

TEST(NicChoice, DoesNotLookForOtherNodesDevicesOnThisHost) {
  EXPECT_EQ(chosen("rxe0/mlx5_0", 0, 1, kFour), "rxe0:1");
  EXPECT_THROW(chosen("rxe0/mlx5_0", 1, 1, kFour), ConfigError);
}

TEST(NicChoice, TakesActivePortsInTurnWithoutGpus) {
  std::vector<RdmaDevice> devices = {software_device("rxe0"), software_device("rxe1"),
                                     software_device("rxe2")};
  devices[1].ports[0] = port_in_state(1, "1: DOWN");
  devices[2].ports.push_back(port_in_state(2));
  EXPECT_EQ(chosen("", 0, 4, devices), "rxe0:1 rxe2:1 rxe2:2 rxe0:1");
  EXPECT_EQ(chosen("", 1, 1, devices), "rxe0:1");
  EXPECT_EQ(chosen("", 0, 2, devices, {"", ""}), "rxe0:1 rxe2:1");
}

const std::string kSwitchA = "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/";
const std::string kSwitchB = "/sys/devices/pci0000:00/0000:00:02.0/0000:11:00.0/";
const std::string kGpuA = kSwitchA + "0000:02:00.0/0000:03:00.0";
const std::string kGpuB = kSwitchB + "0000:12:00.0/0000:13:00.0";
const std::string kNicA = kSwitchA + "0000:02:01.0/0000:04:00.0";
const std::string kNicB = kSwitchB + "0000:12:01.0/0000:14:00.0";

TEST(NicChoice, TakesThePortNearestToTheGpu) {
  const std::vector<RdmaDevice> devices = {pci_device("mlx5_0", kNicB),
                                           pci_device("mlx5_1", kNicA)};
  EXPECT_EQ(chosen("", 0, 2, devices, {kGpuA, kGpuB}), "mlx5_1:1 mlx5_0:1");
  // A near one serves two GPUs before a far one serves any.
  EXPECT_EQ(chosen("", 0, 3, devices, {kGpuA, kGpuA, kGpuB}), "mlx5_1:1 mlx5_1:1 mlx5_0:1");
}

TEST(NicChoice, UsesEquallyNearDevicesEvenly) {
  std::vector<RdmaDevice> devices = {pci_device("mlx5_0", kNicA), pci_device("mlx5_1", kNicA),
                                     pci_device("mlx5_2", kNicB)};
  devices[0].ports.push_back(port_in_state(2));
  EXPECT_EQ(chosen("", 0, 4, devices, {kGpuA, kGpuA, kGpuA, kGpuB}),
            "mlx5_0:1 mlx5_1:1 mlx5_0:2 mlx5_2:1");
  // Nothing is known of how far software devices are.
  EXPECT_EQ(
      chosen("", 0, 3, {software_device("rxe0"), software_device("rxe1")}, {kGpuA, kGpuA, kGpuA}),
      "rxe0:1 rxe1:1 rxe0:1");
}

TEST(NicChoice, GivesNicsWithoutAGpuWhatIsUsedLeast) {
  const std::vector<RdmaDevice> devices = {pci_device("mlx5_0", kNicA),
                                           pci_device("mlx5_1", kNicB)};
  EXPECT_EQ(chosen("", 0, 3, devices, {kGpuA}), "mlx5_0:1 mlx5_1:1 mlx5_0:1");
  EXPECT_EQ(chosen("", 0, 3, devices, {"", kGpuB}), "mlx5_0:1 mlx5_1:1 mlx5_0:1");
}

TEST(NicChoice, ReadsTheNumaNodeOfAGpuBehindAnotherHostBridge) {
  const FakeHost host;
  const std::string gpu = host.add_pci_device("pci0000:20/0000:20:01.0/0000:21:00.0", 1);
  const std::string far = host.add_pci_device("pci0000:40/0000:40:01.0/0000:41:00.0", 0);
  const std::string near = host.add_pci_device("pci0000:60/0000:60:01.0/0000:61:00.0", 1);
  EXPECT_EQ(chosen("", 0, 1, {pci_device("mlx5_0", far, 0), pci_device("mlx5_1", near, 1)}, {gpu}),
            "mlx5_1:1");
}

TEST(NicChoice, SaysWhatToDoWithoutADeviceOrAnActivePort) {
  EXPECT_THAT([] { choose_nics("", 0, 1, {}, {}); },
              ThrowsMessage<ConfigError>(
                  testing::AllOf(StartsWith("no RDMA device on this host: load the driver"),
                                 HasSubstr("rdma link add"), HasSubstr("--link loopback"))));
  const std::vector<RdmaDevice> down = {
      {.name = "mlx5_0", .ports = {port_in_state(1, "1: DOWN"), port_in_state(2, "2: INIT")}}};
  EXPECT_THAT([&] { choose_nics("", 0, 1, down, {}); },
              ThrowsMessage<ConfigError>(testing::AllOf(
                  StartsWith("no RDMA device with an active port: this host has mlx5_0:1 (1: "
                             "DOWN), mlx5_0:2 (2: INIT); bring one up"),
                  testing::Not(HasSubstr("\n")))));
}

}  // namespace
}  // namespace hoccl::hw
