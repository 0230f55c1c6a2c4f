#include "hw/calibrate/gate_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <iostream>
#include <string>

#include "hw/calibrate/calibration_failed.h"
#include "hw/calibrate/connections.h"

namespace hoccl::hw {
namespace {

using namespace engine::literals;
using testing::HasSubstr;

constexpr const char* kPlayChild = "--play-child";

/// What this program does when a test has started it again.
int play_child(const std::string& part) {
  if (part == "fail") return 7;
  if (part == "crash") std::raise(SIGKILL);
  if (part == "babble") {
    std::cout << "nonsense\n";
    return 0;
  }
  Samples samples;
  samples.add({"gate_ready_latency", "memory-operations", 0_B, 0, max_connections()}, 1_us);
  write_samples(std::cout, samples);
  return 0;
}

std::string error_of(const std::string& part) {
  try {
    (void)gates_of_another_process({kPlayChild, part}, 1);
  } catch (const CalibrationFailed& error) {
    return error.what();
  }
  return "no error";
}

TEST(GateProcess, MeasuresWithTheConnectionsThatAreWanted) {
  for (const int connections : {1, 8}) {
    const Samples samples = gates_of_another_process({kPlayChild, "measure"}, connections);
    EXPECT_EQ(samples.series().size(), 1U);
    EXPECT_NE(samples.find({"gate_ready_latency", "memory-operations", 0_B, 0, connections}),
              nullptr);
  }
}

TEST(GateProcess, SaysHowItFailed) {
  EXPECT_THAT(error_of("fail"), HasSubstr("exit code 7"));
  EXPECT_THAT(error_of("crash"), HasSubstr("signal 9"));
  EXPECT_THAT(error_of("babble"), HasSubstr("line 1"));
}

}  // namespace
}  // namespace hoccl::hw

int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == hoccl::hw::kPlayChild) {
    return hoccl::hw::play_child(argv[2]);
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
