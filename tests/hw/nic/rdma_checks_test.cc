#include "hw/doctor/rdma_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/hw/nic/fake_host.h"

namespace hoccl::hw {
namespace {

using testing::HasSubstr;

const std::string kRootPort00 = "pci0000:00/0000:00:01.0";
const std::string kNicPath = kRootPort00 + "/0000:01:00.0/0000:02:01.0/0000:04:00.0";
const std::string kGpuPath = kRootPort00 + "/0000:01:00.0/0000:02:00.0/0000:03:00.0";

/// A host with one NIC, mlx5_0, that works, and a program that can use it.
class RdmaChecks : public testing::Test {
 protected:
  void add_nic() {
    files_.add_pci_device(kNicPath, 0);
    files_.add_rdma_device("mlx5_0", kNicPath);
    files_.add_port("mlx5_0", 1);
    files_.add_gid("mlx5_0", 1, 3, "0000:0000:0000:0000:0000:ffff:0a00:0001");
    files_.add_verbs_file("uverbs0", "mlx5_0", true);
  }
  void add_gpu_driver(const std::string& taint) {
    files_.add_gpu(kGpuPath, 0);
    files_.write("sys/module/nvidia/taint", taint);
  }

  [[nodiscard]] Check find(const std::string& subject) const {
    const std::vector<Check> checks = check_rdma(host_);
    const auto check = std::ranges::find(checks, subject, &Check::subject);
    return check == checks.end() ? Check{"no such check", Finding::kOk, "", ""} : *check;
  }
  void expect(const std::string& subject, Finding finding, const std::string& found,
              const std::string& advice = "") const {
    const Check check = find(subject);
    EXPECT_EQ(check.subject, subject);
    EXPECT_EQ(check.finding, finding) << check.found;
    EXPECT_THAT(check.found, HasSubstr(found));
    EXPECT_THAT(check.advice, HasSubstr(advice));
    EXPECT_EQ(check.advice.empty(), advice.empty()) << check.advice;
  }

  FakeHost files_;
  RdmaHost host_ = {.sys = files_.sys(),
                    .dev = files_.dev(),
                    .kernel_release = "6.8.0-45-generic",
                    .locked_bytes_max = std::nullopt,
                    .has_verbs_link = true};
};

TEST_F(RdmaChecks, AreOneLineAndNoProblemOnAHostWithoutNics) {
  host_.locked_bytes_max = 8 << 20;
  ASSERT_EQ(check_rdma(host_).size(), 1U);
  expect("RDMA devices", Finding::kInfo, "none", "--link loopback");
  EXPECT_EQ(check_pinned_memory(host_).finding, Finding::kInfo);
}

TEST_F(RdmaChecks, AreAllGoodWhereANicWorks) {
  add_nic();
  expect("RDMA devices", Finding::kOk, "mlx5_0");
  expect("mlx5_0:1", Finding::kOk,
         "4: ACTIVE, Ethernet, 100 Gb/sec (4X EDR), GID 3 (::ffff:10.0.0.1, RoCE v2)");
  expect("verbs files", Finding::kOk, "uverbs0 open");
  expect("registration", Finding::kOk, "host memory");
  EXPECT_EQ(check_pinned_memory(host_).finding, Finding::kOk);
  EXPECT_EQ(check_rdma(host_).size(), 4U);
}

TEST_F(RdmaChecks, NameTheNearestGpu) {
  add_nic();
  files_.add_gpu("pci0000:80/0000:80:01.0/0000:81:00.0", 1);
  expect("mlx5_0:1", Finding::kOk, ", nearest GPU 0000:81:00.0: another NUMA node");
  files_.add_gpu(kGpuPath, 0);
  expect("mlx5_0:1", Finding::kOk, ", nearest GPU 0000:03:00.0: same PCIe switch");
}

TEST_F(RdmaChecks, NameNoGpuForASoftwareDevice) {
  files_.add_gpu(kGpuPath, 0);
  files_.add_rdma_device("rxe0");
  files_.add_port("rxe0", 1, "4: ACTIVE", "InfiniBand");
  EXPECT_TRUE(find("rxe0:1").found.ends_with(", GID 0")) << find("rxe0:1").found;
}

TEST_F(RdmaChecks, SayWhatToDoAboutAPortThatIsDown) {
  files_.add_rdma_device("mlx5_0");
  files_.add_port("mlx5_0", 1, "1: DOWN", "Ethernet");
  files_.add_port("mlx5_0", 2, "2: INIT", "InfiniBand");
  files_.add_port("mlx5_0", 3, "1: DOWN", "InfiniBand");
  expect("RDMA devices", Finding::kWarning, "no port is active", "--link loopback only");
  expect("mlx5_0:1", Finding::kInfo, "1: DOWN, Ethernet", "ip link set");
  expect("mlx5_0:2", Finding::kInfo, "2: INIT, InfiniBand", "subnet manager");
  expect("mlx5_0:3", Finding::kInfo, "1: DOWN, InfiniBand", "cable");
}

TEST_F(RdmaChecks, SayWhatToDoAboutAPortWithoutAGid) {
  files_.add_rdma_device("mlx5_0");
  files_.add_port("mlx5_0", 1);
  files_.add_gid("mlx5_0", 1, 0, "fe80:0000:0000:0000:0000:0000:0000:0001", "IB/RoCE v1", "eth3");
  expect("mlx5_0:1", Finding::kProblem, "no RoCE v2 GID", "ip address add … dev eth3");
}

TEST_F(RdmaChecks, WarnWhereNoDeviceFileIsGiven) {
  files_.add_rdma_device("mlx5_0");
  host_.locked_bytes_max = 64 << 10;
  expect("verbs files", Finding::kWarning, "infiniband/uverbs<n>", "modprobe ib_uverbs");
  // Nothing can be registered, so its limit harms no one.
  EXPECT_EQ(check_pinned_memory(host_).finding, Finding::kInfo);
}

TEST_F(RdmaChecks, FindADeviceFileThatCannotBeOpened) {
  add_nic();
  files_.add_verbs_file("uverbs1", "mlx5_1", false);
  expect("verbs files", Finding::kProblem, "infiniband/uverbs1: No such file", "chmod a+rw");
}

TEST_F(RdmaChecks, WarnOfDevicesWithoutAFile) {
  add_nic();
  files_.add_rdma_device("mlx5_1");
  files_.write("sys/class/infiniband_verbs/uverbs1/ibdev", "mlx5_1");
  // Of another network namespace.
  files_.write("sys/class/infiniband_verbs/uverbs2/ibdev", "mlx5_2");
  expect("verbs files", Finding::kWarning, "none for mlx5_1", "--rdma-devices");
}

TEST_F(RdmaChecks, SayHowGpuMemoryIsRegistered) {
  add_nic();
  add_gpu_driver("OE");
  expect("registration", Finding::kOk, "host memory; GPU memory by dma-buf");
  files_.write("sys/module/nvidia_peermem/taint", "OE");
  expect("registration", Finding::kOk, "GPU memory by dma-buf or nvidia-peermem");
  host_.kernel_release = "5.4.0";
  EXPECT_EQ(find("registration").found, "host memory; GPU memory by nvidia-peermem");
}

TEST_F(RdmaChecks, SayWhyGpuMemoryCannotBeRegistered) {
  add_nic();
  files_.add_gpu(kGpuPath, 0);
  expect("registration", Finding::kWarning, "module is not loaded", "modprobe nvidia-peermem");
  files_.write("sys/module/nvidia/taint", "POE");
  expect("registration", Finding::kWarning, "are not the open ones", "NVIDIA's open modules");
  files_.write("sys/module/nvidia/taint", "OE");
  host_.kernel_release = "5.11.22-generic";
  expect("registration", Finding::kWarning, "Linux 5.11.22-generic is older than 5.12",
         "Linux 5.12");
  host_.kernel_release = "5.12.0";
  expect("registration", Finding::kOk, "dma-buf");
}

TEST_F(RdmaChecks, KnowThatSoftwareDevicesReachHostMemoryOnly) {
  add_gpu_driver("OE");
  files_.add_rdma_device("rxe0");
  expect("registration", Finding::kInfo, "host memory only", "a NIC of hardware");
}

TEST_F(RdmaChecks, CallALimitOfPinnedMemoryAProblemUnlessItDoesNotHold) {
  add_nic();
  host_.locked_bytes_max = 8 << 20;
  const Check check = check_pinned_memory(host_);
  EXPECT_EQ(check.finding, Finding::kProblem);
  EXPECT_EQ(check.found, "at most 8MiB");
  for (const char* remedy : {"ulimit -l unlimited", "limits.conf", "LimitMEMLOCK"}) {
    EXPECT_THAT(check.advice, HasSubstr(remedy));
  }
  host_.may_lock_all = true;
  EXPECT_EQ(check_pinned_memory(host_).finding, Finding::kOk);
}

TEST_F(RdmaChecks, AreNeverAProblemOfAProgramWithoutTheVerbsLink) {
  host_.has_verbs_link = false;
  host_.locked_bytes_max = 8 << 20;
  add_nic();
  files_.add_port("mlx5_0", 2);  // without a GID
  files_.add_verbs_file("uverbs1", "mlx5_1", false);
  expect("RDMA devices", Finding::kInfo, "mlx5_0", "HOCCL_VERBS=ON");
  expect("mlx5_0:2", Finding::kInfo, "no RoCE v2 GID", "IP address");
  expect("verbs files", Finding::kInfo, "uverbs1", "chmod");
  EXPECT_EQ(check_pinned_memory(host_).finding, Finding::kInfo);
}

TEST(RdmaHostOfThisMachine, KnowsItsKernel) {
  const RdmaHost host = this_rdma_host();
  EXPECT_FALSE(host.kernel_release.empty());
  EXPECT_EQ(host.sys, "/sys");
  EXPECT_FALSE(check_rdma(host).empty());
}

}  // namespace
}  // namespace hoccl::hw
