#include "hw/calibrate/measured_constants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>

#include "engine/base/config_error.h"
#include "hw/calibrate/what_is_measured.h"
#include "sim/calibration/calibration.h"
#include "sim/calibration/calibration_writer.h"

namespace hoccl::hw {
namespace {

using engine::Bytes;
using engine::BytesPerSecond;
using engine::Seconds;
using testing::HasSubstr;

/// A machine whose every time is known.
struct FakeClass {
  BytesPerSecond rate;
  Seconds setup;
  Seconds setup_in_batch;
  Seconds launch;
  Seconds post_copy;
};
constexpr Seconds kEvent = 0.15_us;
constexpr Seconds kEmpty = 0.12_us;
constexpr Seconds kDone = 1.3_us;
constexpr Seconds kCompletion = 0.7_us;

void add_class(Samples& samples, const std::string& name, const FakeClass& fake) {
  for (const Bytes size : kEngineSizes) {
    samples.add({kEngineTime, name, size, 1}, fake.setup + size / fake.rate);
  }
  for (const Bytes size : kBatchSizes) {
    for (const int count : kBatchCounts) {
      const double copies = count;
      samples.add({kBatchTime, name, size, count},
                  fake.setup + copies * (fake.setup_in_batch + size / fake.rate));
    }
  }
  for (const int count : kBatchCounts) {
    samples.add({kBatchCall, name, kCallSize, count}, 1_us + count * 0.3_us);
  }
  for (int place = 1; place <= kStreamEndCount; ++place) {
    samples.add({kStreamEnd, name, kStreamEndSize, place}, place * (kStreamEndSize / fake.rate));
  }
  for (const Bytes size : kLatencySizes) {
    const Seconds data = fake.post_copy + fake.launch + fake.setup + size / fake.rate;
    samples.add({kDoneSeen, name, size, 1}, data + kCompletion + kEmpty / 2.0 + kDone);
    if (name == "d2h") samples.add({kDataSeen, name, size, 1}, data);
  }
  samples.add({kCopyCall, name, kCallSize}, fake.post_copy);
  samples.add({kDuplexTime, name, kDuplexSize, 1}, kDuplexSize / (fake.rate * 0.9));
}

Samples fake_samples() {
  Samples samples;
  samples.machine = {
      .device = "Fake GPU", .driver = "1.2", .toolkit = "13.0", .date = "2025-01-02"};
  add_class(samples, "d2h", {55_GBps, 1.9_us, 0.01_us, 1.2_us, 1.1_us});
  add_class(samples, "h2d", {54_GBps, 2.4_us, 0.02_us, 1.5_us, 1.25_us});
  samples.add({kEventCall, "d2h", kCallSize}, kEvent);
  samples.add({kQueryPending, "d2h", kSignalSize, 1}, kEmpty);
  samples.add({kQueryDone, "d2h", kSignalSize, 1}, kDone);
  const auto gate = [&](const char* measurement, Seconds time) {
    samples.add({measurement, kMemoryOperations, Bytes(0), 0, kModelConnections}, time);
  };
  gate(kReadySeen, 3.5_us);
  gate(kResumeSeen, 6.75_us);
  gate(kReadyCall, 1.1_us);
  gate(kWaitOpenCall, 1.2_us);
  samples.add({kLaunchCall, "sendrecv", 64_KiB, 2}, 3.5_us);
  for (const char* kind : kLockKinds) samples.add({kLockTime, kind, 0_B, kLockThreads}, 0.5_us);
  samples.add({kLockTime, kLockQuery, 0_B, kLockThreads}, 1.5_us);  // the median of two is 1
  samples.add({kLockTime, kLockWord, 0_B, kLockThreads}, 100_us);   // which no proxy writes
  samples.add({kProxyWork, kIdleStep}, 0.2_us);
  for (const char* name : kWorkNames) samples.add({kProxyWork, name}, 0.4_us);
  samples.add({kProxyWork, "plan_flow"}, 0.6_us);
  return samples;
}

std::vector<MeasuredConstant> constants_of(const Samples& samples) {
  return measured_constants(samples, engine::preset_topology("h200-1x1"));
}

std::string value_of(const std::vector<MeasuredConstant>& constants, std::string_view key) {
  const auto found = std::ranges::find(constants, key, &MeasuredConstant::key);
  return found == constants.end() ? "none" : found->value;
}

TEST(MeasuredConstants, AreThoseOfTheMachineThatWasMeasured) {
  const auto constants = constants_of(fake_samples());
  const auto expect = [&](std::string_view key, std::string_view value) {
    EXPECT_EQ(value_of(constants, key), value) << key;
  };
  expect("copy_engine_d2h.setup", "1.9us");
  expect("copy_engine_d2h.setup_in_batch", "0.01us");
  expect("copy_engine_d2h.setup_overlap", "0");
  expect("copy_engine_d2h.concurrency", "1");
  expect("copy_engine_d2h.completion_latency", "0.7us");
  expect("copy_engine_d2h.launch_latency", "1.2us");
  expect("copy_engine_h2d.setup", "2.4us");
  expect("copy_engine_h2d.completion_latency", "0.7us");
  expect("copy_engine_h2d.launch_latency", "1.5us");
  expect("cpu.post_copy_d2h", "1.1us");
  expect("cpu.post_batch_d2h", "1us");
  expect("cpu.post_copy_in_batch_d2h", "0.3us");
  expect("cpu.post_copy_h2d", "1.25us");
  expect("cpu.post_event", "0.15us");
  expect("cpu.driver_lock", "0.667us");  // the mean of the three kinds
  expect("cpu.query_copies", "0.12us");
  expect("cpu.poll_copies", "1.3us");
  expect("cpu.enqueue_ready", "1.1us");
  expect("cpu.enqueue_wait", "1.2us");
  expect("cpu.submit", "1.2us");
  expect("cpu.poll_empty", "0.2us");
  expect("cpu.post_local_message", "0.4us");
  expect("cpu.poll_message", "0.4us");
  expect("cpu.bookkeeping", "0.4us");
  expect("cpu.plan_flow", "0.5us");  // the median of two
  expect("cpu.open_gate", "0.4us");
  expect("cpu.finish", "0.4us");
  expect("gate.ready_latency", "3.5us");
  expect("gate.resume_latency", "3.25us");
  expect("pcie.efficiency", "0.9855");  // 54.5 of 55.3
}

TEST(MeasuredConstants, OfTheDriversCallsAreWhatTheyTakeInUse) {
  Samples samples = fake_samples();
  samples.add({kCallInUse, "post_copy_d2h"}, 2.5_us);
  samples.add({kCallInUse, "post_batch_h2d"}, 3_us);
  samples.add({kCallInUse, "post_copy_in_batch_h2d"}, 0.5_us);
  samples.add({kCallInUse, "poll_copies"}, 2_us);
  const auto constants = constants_of(samples);
  EXPECT_EQ(value_of(constants, "cpu.post_copy_d2h"), "2.5us");
  EXPECT_EQ(value_of(constants, "cpu.post_copy_h2d"), "1.25us") << "there is no other";
  EXPECT_EQ(value_of(constants, "cpu.post_batch_h2d"), "3us");
  EXPECT_EQ(value_of(constants, "cpu.post_copy_in_batch_h2d"), "0.5us");
  EXPECT_EQ(value_of(constants, "cpu.poll_copies"), "2us");
  // What was timed in a loop is taken apart with what calls take there.
  EXPECT_EQ(value_of(constants, "copy_engine_d2h.launch_latency"), "1.2us");
  EXPECT_EQ(value_of(constants, "copy_engine_d2h.completion_latency"), "0.7us");
}

TEST(MeasuredConstants, SayWhereTheyComeFrom) {
  const auto constants = constants_of(fake_samples());
  for (const MeasuredConstant& each : constants) {
    EXPECT_THAT(each.source,
                HasSubstr("measured on Fake GPU, driver 1.2, CUDA 13.0, 2025-01-02, n = "))
        << each.key;
    EXPECT_THAT(each.source, HasSubstr(", spread ")) << each.key;
  }
}

TEST(MeasuredConstants, WhatWasNotMeasuredIsNotThere) {
  const auto constants = constants_of(fake_samples());
  EXPECT_EQ(value_of(constants, "copy_engine.setup"), "none");  // no peer
  EXPECT_EQ(value_of(constants, "nvlink.efficiency"), "none");
  EXPECT_EQ(value_of(constants, "nic.efficiency"), "none");
  EXPECT_TRUE(constants_of(Samples()).empty());
}

TEST(MeasuredConstants, ALaunchThatTheOtherTermsLeaveNothingForIsNone) {
  Samples samples = fake_samples();
  samples.add({kCopyCall, "d2h", kCallSize}, 10_us);  // the median is now above 5 us
  const auto constants = constants_of(samples);
  EXPECT_EQ(value_of(constants, "copy_engine_d2h.launch_latency"), "0us");
}

TEST(MeasuredConstants, FasterThanTheTopologySaysIsAllOfItAndSaid) {
  Samples samples = fake_samples();
  add_class(samples, "peer", {500_GBps, 1.5_us, 0.01_us, 1_us, 1_us});  // 450 GB/s of NVLink
  const auto constants = constants_of(samples);
  EXPECT_EQ(value_of(constants, "nvlink.efficiency"), "1");
  EXPECT_EQ(value_of(constants, "copy_engine.setup"), "1.5us");
  EXPECT_EQ(value_of(constants, "cpu.post_copy"), "1us");
  const auto found = std::ranges::find(constants, "nvlink.efficiency", &MeasuredConstant::key);
  EXPECT_THAT(found->source, HasSubstr("1.1111"));
}

TEST(MeasuredConstants, MakeACalibrationThatTheModelReads) {
  sim::Calibration calibration = sim::resolve_calibration("h200");
  for (const MeasuredConstant& each : constants_of(fake_samples())) {
    calibration.set(each.key, each.value, {.source = each.source});
  }
  std::ostringstream text;
  sim::write_calibration(text, calibration, "A fake.");
  const sim::Calibration read = sim::parse_calibration(text.str(), "fake.toml");
  EXPECT_EQ(read.hash(), calibration.hash());
  EXPECT_NEAR(engine::microseconds(read.copy_engine_h2d.setup), 2.4, 1e-9);
  EXPECT_EQ(read.copy_engine.setup, sim::resolve_calibration("h200").copy_engine.setup);
}

}  // namespace
}  // namespace hoccl::hw
