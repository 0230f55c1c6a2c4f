#include "hw/run/host_description.h"

#include <gtest/gtest.h>

namespace hoccl::hw {
namespace {

TEST(HostDescription, SaysHowManyCoresAreUsable) {
  EXPECT_EQ(cores_of({.cpu = "", .cores = 1, .machine_cores = 1, .kernel = ""}), "1 core");
  EXPECT_EQ(cores_of({.cpu = "", .cores = 8, .machine_cores = 8, .kernel = ""}), "8 cores");
  EXPECT_EQ(cores_of({.cpu = "", .cores = 1, .machine_cores = 8, .kernel = ""}),
            "1 of 8 cores usable");
}

TEST(HostDescription, IsOfThisHost) {
  const HostDescription host = describe_host();
  EXPECT_GE(host.cores, 1);
  EXPECT_GE(host.machine_cores, host.cores);
  EXPECT_NE(host.kernel, "");
}

}  // namespace
}  // namespace hoccl::hw
