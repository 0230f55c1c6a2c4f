#include "hw/calibrate/gate_table.h"

#include <gtest/gtest.h>

#include "hw/calibrate/what_is_measured.h"

namespace hoccl::hw {
namespace {

using engine::Seconds;

SeriesKey key(const char* measurement, const char* mechanism, int connections) {
  return {measurement, mechanism, engine::Bytes(0), 0, connections};
}

TEST(GateTable, HasOneRowForEachWayThatWasMeasured) {
  Samples samples;
  samples.add(key(kReadySeen, kMemoryOperations, 8), 3_us);
  samples.add(key(kReadySeen, kHostFunctions, 1), 9_us);
  const std::vector<GateRow> rows = gate_table(samples);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].mechanism, kMemoryOperations);
  EXPECT_EQ(rows[0].connections, 8);
  EXPECT_EQ(rows[0].ready_latency->median, 3_us);
  EXPECT_FALSE(rows[0].resume_latency);
  EXPECT_FALSE(rows[0].same_stream_bubble);
  EXPECT_EQ(rows[1].mechanism, kHostFunctions);
  EXPECT_EQ(rows[1].connections, 1);
}

TEST(GateTable, BubblesAreDifferencesOfPairs) {
  Samples samples;
  const auto alone = key(kWorkAlone, kMemoryOperations, 1);
  const auto same = key(kWorkSameStream, kMemoryOperations, 1);
  const auto other = key(kWorkOtherStream, kMemoryOperations, 1);
  // The clock falls between the pairs; the bubble is 10 us each time, and none on the other stream.
  for (const Seconds work : {1000_us, 1100_us, 1500_us}) {
    samples.add(alone, work);
    samples.add(same, work + 10_us);
    samples.add(other, work);
  }
  const std::vector<GateRow> rows = gate_table(samples);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_NEAR(engine::microseconds(rows[0].same_stream_bubble->median), 10.0, 1e-6);
  EXPECT_NEAR(engine::microseconds(rows[0].same_stream_bubble->max), 10.0, 1e-6);
  EXPECT_EQ(rows[0].other_stream_bubble->median, 0_us);
}

}  // namespace
}  // namespace hoccl::hw
