#include "engine/base/check.h"

#include <gtest/gtest.h>

namespace hoccl::engine {
namespace {

TEST(Check, PassesWhenTheExpressionHolds) {
  int evaluated = 0;
  HOCCL_CHECK(++evaluated == 1, "evaluated {} times", evaluated);
  EXPECT_EQ(evaluated, 1);
}

TEST(CheckDeathTest, PrintsExpressionAndValuesThenAborts) {
  const int slots = 3;
  EXPECT_DEATH(HOCCL_CHECK(slots == 4, "slots {} of {}", slots, 4),
               "check_test.cc:[0-9]+: check failed: slots == 4: slots 3 of 4");
}

}  // namespace
}  // namespace hoccl::engine
