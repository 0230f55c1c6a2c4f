#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/base/units.h"
#include "hw/proof/zero_sm_verdict.h"

namespace hoccl::hw {
namespace {

using engine::Bytes;
using namespace engine::literals;
using testing::Test;

Activity copy(CopyDirection direction, Bytes size, Channel channel = Channel::kCopyEngine) {
  return {.kind = ActivityKind::kMemcpy,
          .direction = direction,
          .channel = channel,
          .bytes = size,
          .begin_ns = 1000,
          .end_ns = 2000};
}

Activity batch(Bytes size_each, std::int64_t count, Channel channel) {
  Activity activity = copy(CopyDirection::kHostToDevice, size_each * count, channel);
  activity.copy_count = count;
  return activity;
}

Activity kernel(const char* name) {
  return {.kind = ActivityKind::kKernel,
          .channel = Channel::kCompute,
          .begin_ns = 1000,
          .end_ns = 2000,
          .name = name};
}

Activity memset_on(Channel channel) {
  return {.kind = ActivityKind::kMemset,
          .channel = channel,
          .bytes = 1_MiB,
          .begin_ns = 1000,
          .end_ns = 2000};
}

std::vector<Activity> clean() {
  std::vector<Activity> activities;
  for (int i = 0; i < 512; ++i) {
    activities.push_back(copy(CopyDirection::kDeviceToHost, 2_MiB));
    activities.push_back(copy(CopyDirection::kHostToDevice, 2_MiB));
  }
  return activities;
}

ZeroSmVerdict clean_and(const Activity& activity) {
  std::vector<Activity> activities = clean();
  activities.insert(activities.begin() + 7, activity);
  return judge(activities);
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(ZeroSmVerdict, HoldsWhenOnlyCopyEnginesCopied) {
  const ZeroSmVerdict verdict = judge(clean());
  EXPECT_TRUE(verdict.holds());
  EXPECT_EQ(to_string(verdict),
            "# zero SM: yes - copies on copy engines: 512 D2H of 2MiB, 512 H2D of 2MiB; no kernel; "
            "no memset\n");
}

TEST(ZeroSmVerdict, ACopyOnTheComputeChannelRefutesIt) {
  for (const CopyDirection direction :
       {CopyDirection::kDeviceToHost, CopyDirection::kHostToDevice, CopyDirection::kPeer,
        CopyDirection::kDeviceToDevice, CopyDirection::kOther}) {
    const ZeroSmVerdict verdict = clean_and(copy(direction, kSmallestDmaCopy, Channel::kCompute));
    EXPECT_FALSE(verdict.holds()) << to_string(direction);
    EXPECT_TRUE(contains(to_string(verdict), "zero SM: no")) << to_string(verdict);
  }
}

TEST(ZeroSmVerdict, ACopyOnAnUnknownChannelRefutesIt) {
  EXPECT_FALSE(clean_and(copy(CopyDirection::kHostToDevice, 2_MiB, Channel::kOther)).holds());
}

TEST(ZeroSmVerdict, NamesTheFirstOffender) {
  std::vector<Activity> activities = clean();
  activities.push_back(copy(CopyDirection::kDeviceToDevice, 3_MiB, Channel::kCompute));
  activities.push_back(kernel("late"));
  const std::string text = to_string(judge(activities));
  EXPECT_TRUE(contains(text, "not on copy engines: 1 D2D of 3MiB; 1 kernel; no memset")) << text;
  EXPECT_TRUE(contains(text, "the first of them: D2D copy of 3MiB on channel compute")) << text;
}

TEST(ZeroSmVerdict, AKernelRefutesIt) {
  const ZeroSmVerdict verdict = clean_and(kernel("copy_kernel"));
  EXPECT_FALSE(verdict.holds());
  EXPECT_TRUE(contains(to_string(verdict), "kernel copy_kernel")) << to_string(verdict);
}

TEST(ZeroSmVerdict, ALongNameIsCut) {
  const ZeroSmVerdict verdict = clean_and(kernel(std::string(1000, 'k').c_str()));
  EXPECT_EQ(std::string(verdict.first_offender.data()).size(), verdict.first_offender.size() - 1);
}

TEST(ZeroSmVerdict, AMemsetOnSmsRefutesIt) {
  EXPECT_FALSE(clean_and(memset_on(Channel::kCompute)).holds());
  EXPECT_TRUE(clean_and(memset_on(Channel::kCopyEngine)).holds());
}

TEST(ZeroSmVerdict, SmallCopiesAreListedApart) {
  const ZeroSmVerdict verdict =
      clean_and(copy(CopyDirection::kHostToDevice, 1_B, Channel::kCompute));
  EXPECT_TRUE(verdict.holds());
  EXPECT_TRUE(contains(to_string(verdict),
                       "apart, below the 2B from which the driver uses a copy engine: "
                       "1 H2D of 1B"))
      << to_string(verdict);
}

TEST(ZeroSmVerdict, ACopyWithinOneGpuCountsAtAnySize) {
  EXPECT_FALSE(clean_and(copy(CopyDirection::kDeviceToDevice, 4_B, Channel::kCompute)).holds());
}

TEST(ZeroSmVerdict, SmallCopiesAloneProveNothing) {
  const std::vector<Activity> small = {copy(CopyDirection::kHostToDevice, 1_B, Channel::kCompute)};
  EXPECT_FALSE(judge(small).holds());
}

TEST(ZeroSmVerdict, NothingRecordedProvesNothing) {
  EXPECT_FALSE(judge({}).holds());
  EXPECT_TRUE(contains(to_string(judge({})), "no copy on a copy engine was recorded"));
}

TEST(ZeroSmVerdict, ABatchCountsItsCopies) {
  const std::vector<Activity> activities = {batch(1_MiB, 8, Channel::kCopyEngine)};
  const ZeroSmVerdict verdict = judge(activities);
  EXPECT_TRUE(verdict.holds());
  EXPECT_TRUE(contains(to_string(verdict), "8 H2D of 1MiB")) << to_string(verdict);
}

// One large copy may hide between small ones.
TEST(ZeroSmVerdict, ABatchOnSmsIsSmallOnlyIfAllOfItIs) {
  EXPECT_TRUE(clean_and(batch(1_B, 1, Channel::kCompute)).holds());
  EXPECT_FALSE(clean_and(batch(1_B, 2, Channel::kCompute)).holds());
}

TEST(ZeroSmVerdict, MissingRecordsRefuteIt) {
  Activity unfinished = copy(CopyDirection::kDeviceToHost, 2_MiB);
  unfinished.begin_ns = unfinished.end_ns = 0;
  EXPECT_FALSE(clean_and(unfinished).holds());
  EXPECT_FALSE(judge(clean(), /*lost=*/1).holds());
}

TEST(ZeroSmVerdict, MergedItIsThatOfAllRecords) {
  const std::vector<Activity> left = {copy(CopyDirection::kHostToDevice, 1_MiB),
                                      copy(CopyDirection::kHostToDevice, 4_KiB, Channel::kCompute)};
  const std::vector<Activity> right = {copy(CopyDirection::kHostToDevice, 3_MiB), kernel("k"),
                                       memset_on(Channel::kCompute)};
  std::vector<Activity> both = left;
  both.insert(both.end(), right.begin(), right.end());
  EXPECT_EQ(merge(judge(left), judge(right)), judge(both));
  EXPECT_EQ(merge(ZeroSmVerdict{}, judge(left)), judge(left));
  EXPECT_EQ(merge(judge(left), judge({})), judge(left));
}

}  // namespace
}  // namespace hoccl::hw
