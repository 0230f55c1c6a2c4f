#include "hw/calibrate/sample_series.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <sstream>

#include "engine/base/config_error.h"

namespace hoccl::hw {
namespace {

using engine::ConfigError;
using engine::Seconds;
using namespace engine::literals;
using testing::HasSubstr;

TEST(Summary, InterpolatesBetweenSamples) {
  const Summary summary = summarise(std::array{4_us, 1_us, 3_us, 2_us});
  EXPECT_EQ(summary.count, 4U);
  EXPECT_NEAR(engine::microseconds(summary.median), 2.5, 1e-9);
  EXPECT_NEAR(engine::microseconds(summary.p10), 1.3, 1e-9);
  EXPECT_NEAR(engine::microseconds(summary.p90), 3.7, 1e-9);
  EXPECT_EQ(summary.min, 1_us);
  EXPECT_EQ(summary.max, 4_us);
  EXPECT_NEAR(summary.spread(), (3.7 - 1.3) / 2.5, 1e-9);
}

TEST(Summary, OfOneSampleIsThatSample) {
  const Summary summary = summarise(std::array{4_us});
  EXPECT_EQ(summary.median, 4_us);
  EXPECT_EQ(summary.p10, 4_us);
  EXPECT_EQ(summary.spread(), 0.0);
}

TEST(Samples, AreReadAsTheyWereWritten) {
  Samples samples;
  samples.machine = {.device = "A GPU", .driver = "1.2", .toolkit = "13.0", .date = "2025-01-02"};
  samples.note("nothing, really");
  const SeriesKey copy{"engine_time", "d2h", 64_KiB, 1, 0};
  const SeriesKey gate{"gate_ready_call", "memory-operations", 0_B, 0, 8};
  samples.add(copy, 1.25_us);
  samples.add(copy, 1.5_us);
  samples.add(gate, -0.5_us);
  std::stringstream text;
  write_samples(text, samples);
  const Samples read = read_samples(text);
  EXPECT_EQ(read.machine.device, "A GPU");
  EXPECT_EQ(read.machine.driver, "1.2");
  EXPECT_EQ(read.machine.toolkit, "13.0");
  EXPECT_EQ(read.machine.date, "2025-01-02");
  EXPECT_EQ(read.notes(), samples.notes());
  ASSERT_EQ(read.series().size(), 2U);
  ASSERT_EQ(read.find(copy)->size(), 2U);
  EXPECT_NEAR(engine::microseconds(read.find(copy)->at(1)), 1.5, 1e-6);
  EXPECT_NEAR(engine::microseconds(read.find(gate)->at(0)), -0.5, 1e-6);
  EXPECT_EQ(read.find({"engine_time", "h2d", 64_KiB, 1, 0}), nullptr);
}

TEST(Samples, OfAnotherProcessAreAdded) {
  Samples samples;
  samples.machine.device = "A GPU";
  samples.add({"a", "b"}, 1_us);
  Samples other;
  other.add({"a", "b"}, 2_us);
  other.add({"a", "c"}, 3_us);
  other.note("a note");
  samples.merge(other);
  EXPECT_EQ(samples.find({"a", "b"})->size(), 2U);
  EXPECT_EQ(samples.find({"a", "c"})->size(), 1U);
  EXPECT_EQ(samples.notes().size(), 1U);
  EXPECT_EQ(samples.machine.device, "A GPU");
}

TEST(Samples, WrongTextIsRefusedWithItsLine) {
  const auto error_of = [](const std::string& text) -> std::string {
    std::istringstream stream(text);
    try {
      (void)read_samples(stream);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "no error";
  };
  const std::string header = "measurement,subject,size_bytes,count,connections,sample,time_us\n";
  EXPECT_THAT(error_of(""), HasSubstr("nothing"));
  EXPECT_THAT(error_of("# a note\na,b,1,2,3,0,1.5\n"), HasSubstr("line 2"));
  EXPECT_THAT(error_of(header + "a,b,1,2,3,0\n"), HasSubstr("line 2"));
  EXPECT_THAT(error_of(header + "a,b,1,2,3,0,1.5,7\n"), HasSubstr("line 2"));
  EXPECT_THAT(error_of(header + "a,b,1,2,3,0,1.5\na,b,1,x,3,0,1.5\n"), HasSubstr("line 3"));
  EXPECT_THAT(error_of(header + "a,b,1,2,3,0,1.5us\n"), HasSubstr("1.5us"));
}

}  // namespace
}  // namespace hoccl::hw
