#include "sim/run/bound_check.h"

#include <gtest/gtest.h>

namespace hoccl::sim {
namespace {

using engine::Seconds;
using namespace engine::literals;

const engine::Bound kBound{.time = 100.0_us, .port = "NIC 1, sending"};

TEST(BoundCheck, AcceptsATimeAtTheBoundAndRounding) {
  check_bound("nominal", kBound, 1_MiB, kBound.time);
  check_bound("nominal", kBound, 1_MiB, kBound.time * (1.0 - 1e-10));
  check_bound("nominal", kBound, 1_MiB, Seconds(1.0));
}

TEST(BoundCheckDeathTest, NamesThePortThatATimeBeats) {
  EXPECT_DEATH(check_bound("calibrated", kBound, 1_MiB, kBound.time * (1.0 - 1e-8)),
               "1048576 bytes.*calibrated bound.*NIC 1, sending");
}

}  // namespace
}  // namespace hoccl::sim
