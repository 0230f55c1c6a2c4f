// A process is killed in each state of a chunk: every survivor is told within 2 s and goes on.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/hw/conformance/broken_job.h"
#include "tests/hw/job/lost_rank.h"

namespace hoccl::hw {
namespace {

using engine::Seconds;
using engine::Status;

/// For a trap to spring.
constexpr Seconds kPatience(20.0);

struct Killing {
  SeamEvent event;
  Role victim;
};

std::vector<Killing> killings() {
  using enum SeamEvent;
  std::vector<Killing> result;
  for (const SeamEvent event : {kReadyPolled, kGrantPolled, kStageInPosted, kStagedPolled,
                                kWritePosted, kArrivedPolled, kLandedPolled, kDeliverPosted}) {
    for (const Role victim :
         {Role::kSource, Role::kTarget, Role::kSendRelay, Role::kReceiveRelay}) {
      result.push_back({event, victim});
    }
  }
  result.push_back({kDirectPosted, Role::kSource});
  result.push_back({kDirectPosted, Role::kTarget});
  return result;
}

class Kill : public testing::TestWithParam<Killing> {};

TEST_P(Kill, IsReportedToEverySurvivor) {
  const auto [event, role] = GetParam();
  // The observer holds the chunk in its state while it or another is killed.
  BrokenJob broken(Living::kProcess, event);
  const engine::Rank victim = broken.rank_of(role);
  HwRanks& ranks = broken.job().ranks();
  broken.enqueue_messages();
  ASSERT_TRUE(ranks.trap_line().await_spring(kPatience));
  ranks.kill(victim);
  ranks.trap_line().release();
  broken.expect_survivors_end(victim,
                              [victim](const Status& status) { return names(status, victim); });
}

std::string name_of(const testing::TestParamInfo<Killing>& info) {
  return fmt::format("{}{}", to_string(info.param.victim), to_string(info.param.event));
}

INSTANTIATE_TEST_SUITE_P(EachState, Kill, testing::ValuesIn(killings()), name_of);

}  // namespace
}  // namespace hoccl::hw
