// A communicator is aborted in each state of a chunk, by either end: both are told, and other
// communicators go on.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/hw/conformance/broken_job.h"

namespace hoccl::hw {
namespace {

using engine::Cause;
using engine::Seconds;
using engine::Status;

/// For a trap to spring.
constexpr Seconds kPatience(20.0);

struct Aborting {
  Living living;
  SeamEvent event;
  Role by;
};

std::vector<Aborting> abortings() {
  using enum SeamEvent;
  std::vector<Aborting> result;
  for (const Living living : {Living::kThread, Living::kProcess}) {
    for (const SeamEvent event :
         {kReadyPolled, kGrantPolled, kStageInPosted, kStagedPolled, kWritePosted, kArrivedPolled,
          kLandedPolled, kDeliverPosted, kDirectPosted}) {
      for (const Role by : {Role::kSource, Role::kTarget}) result.push_back({living, event, by});
    }
  }
  return result;
}

class Abort : public testing::TestWithParam<Aborting> {};

TEST_P(Abort, EndsTheOperationOnBothSides) {
  const auto [living, event, by] = GetParam();
  BrokenJob broken(living, event);
  const TrapLine& trap = broken.job().ranks().trap_line();
  broken.enqueue_messages();
  ASSERT_TRUE(trap.await_spring(kPatience));
  broken.job().abort(broken.rank_of(by), BrokenJob::kCommunicator);
  trap.release();
  broken.expect_survivors_end(engine::Rank::none(),
                              [](const Status& status) { return status.cause == Cause::kAborted; });
}

std::string name_of(const testing::TestParamInfo<Aborting>& info) {
  const auto [living, event, by] = info.param;
  return fmt::format("By{}{}{}", to_string(by), to_string(event),
                     living == Living::kThread ? "Threads" : "Processes");
}

INSTANTIATE_TEST_SUITE_P(EachState, Abort, testing::ValuesIn(abortings()), name_of);

}  // namespace
}  // namespace hoccl::hw
