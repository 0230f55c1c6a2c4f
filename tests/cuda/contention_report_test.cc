#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "engine/base/units.h"
#include "experiments/contention/report.h"

namespace hoccl::contention {
namespace {

using engine::Seconds;
using namespace engine::literals;

Measured burst(int round, std::size_t condition, Seconds time, double clock_mhz) {
  Measured measured;
  measured.round = round;
  measured.condition = condition;
  measured.burst.times = {time * 0.99, time, time * 1.01};
  measured.burst.sm_clock_mhz = {clock_mhz};
  return measured;
}

const std::vector<Condition> kConditions = {{"alone", "", {}}, {"other", "", {}}};

TEST(ContentionReport, AQuantileLiesBetweenItsNeighbours) {
  EXPECT_DOUBLE_EQ(quantile({3, 1, 2}, 0.5), 2);
  EXPECT_DOUBLE_EQ(quantile({4, 1, 2, 3}, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(quantile({4, 1, 2, 3}, 0), 1);
  EXPECT_DOUBLE_EQ(quantile({4, 1, 2, 3}, 1), 4);
}

// The second round is twice as slow for both: the drift must not show.
TEST(ContentionReport, ASlowDownIsThatOfItsRound) {
  const std::vector<Measured> measured = {burst(0, 1, 110_us, 1000), burst(0, 0, 100_us, 1000),
                                          burst(1, 0, 200_us, 1000), burst(1, 1, 230_us, 1000)};
  const Summary other = summarise(kConditions, measured)[1];
  EXPECT_EQ(other.name, "other");
  EXPECT_EQ(other.products, 6U);
  EXPECT_NEAR(other.time.lowest_pct, 10, 1e-9);
  EXPECT_NEAR(other.time.median_pct, 12.5, 1e-9);
  EXPECT_NEAR(other.time.highest_pct, 15, 1e-9);
}

TEST(ContentionReport, ALowerClockShowsInTheTimeAndNotInTheCycles) {
  const std::vector<Measured> measured = {burst(0, 0, 100_us, 2000), burst(0, 1, 125_us, 1600)};
  const Summary other = summarise(kConditions, measured)[1];
  EXPECT_NEAR(other.time.median_pct, 25, 1e-9);
  EXPECT_NEAR(other.cycles.median_pct, 0, 1e-9);
}

TEST(ContentionReport, TheFileHasARowPerProduct) {
  const std::vector<Measured> measured = {burst(0, 0, 100_us, 2000), burst(0, 1, 125_us, 1600)};
  std::ostringstream file;
  write_csv(file, kConditions, measured);
  std::string line;
  std::istringstream lines(file.str());
  std::getline(lines, line);
  EXPECT_EQ(line.substr(0, 33), "round,condition,product,time_us,s");
  std::getline(lines, line);
  EXPECT_EQ(line, "0,alone,0,99.00,2000.0,0.00,0.00,0.00,0,0,0.0,0,0x0");
  int rows = 1;
  while (std::getline(lines, line)) ++rows;
  EXPECT_EQ(rows, 6);
}

TEST(ContentionReport, ReasonsOfTheDriverAreNamed) {
  EXPECT_EQ(throttle_text(0), "-");
  EXPECT_EQ(throttle_text(0x24), "power cap, thermal");
}

}  // namespace
}  // namespace hoccl::contention
