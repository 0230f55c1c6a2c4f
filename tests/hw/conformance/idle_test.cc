#include <gtest/gtest.h>

#include "tests/hw/job/idle_cost.h"

namespace hoccl::hw {
namespace {

/// Loose, for a crowded machine; tests/bench measures it.
TEST(IdleProcess, UsesHardlyAnyCpuTime) { EXPECT_LT(idle_cost(8, engine::Seconds(0.5)), 0.1); }

}  // namespace
}  // namespace hoccl::hw
