#include "sim/calibration/calibration_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace hoccl::sim {
namespace {

using testing::HasSubstr;

std::string written(const Calibration& calibration) {
  std::ostringstream stream;
  write_calibration(stream, calibration, "A remark.");
  return stream.str();
}

TEST(CalibrationWriter, EveryShippedCalibrationIsReadBackUnchanged) {
  for (const std::string& name : calibration_names()) {
    const Calibration original = resolve_calibration(name);
    const Calibration copy = parse_calibration(written(original), "copy.toml");
    EXPECT_EQ(copy.machine, original.machine);
    EXPECT_EQ(copy.hash(), original.hash());
    const auto left = original.entries();
    const auto right = copy.entries();
    ASSERT_EQ(left.size(), right.size());
    for (std::size_t i = 0; i < left.size(); ++i) {
      EXPECT_EQ(left[i].source, right[i].source) << left[i].key;
      EXPECT_EQ(left[i].kind, right[i].kind) << left[i].key;
    }
  }
}

TEST(CalibrationWriter, ValuesThatADeviceMayGiveSurvive) {
  Calibration original = resolve_calibration("h200");
  original.machine = "a \"machine\" with \\ and \t";
  for (const char* each : {"copy_engine_d2h.setup=1.6180339887498949us", "cpu.poll_copies=0us",
                           "copy_engine_h2d.setup_in_batch=0.0000001ns", "pcie.efficiency=1",
                           "nccl.channel_net_rate=13.333333333333334GB/s", "gate.ready_latency=3ms",
                           "cpu.enqueue_wait=1.1us"}) {
    original.set(each);
  }
  const Calibration copy = parse_calibration(written(original), "copy.toml");
  EXPECT_EQ(copy.machine, original.machine);
  EXPECT_EQ(copy.hash(), original.hash());
}

TEST(CalibrationWriter, PrintsNoDigitsThatSayNothing) {
  Calibration calibration = resolve_calibration("h200");
  calibration.set("cpu.enqueue_wait", "1.1us", {.source = "a \"source\""});
  EXPECT_THAT(written(calibration),
              HasSubstr("[cpu.enqueue_wait]\nvalue = \"1.1us\"\nsource = \"a \\\"source\\\"\"\n"
                        "kind = \"input\"\n"));
  EXPECT_THAT(written(calibration), testing::StartsWith("# A remark.\n"));
}

}  // namespace
}  // namespace hoccl::sim
