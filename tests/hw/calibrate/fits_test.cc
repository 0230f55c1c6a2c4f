#include "hw/calibrate/fits.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "hw/calibrate/calibration_failed.h"

namespace hoccl::hw {
namespace {

using engine::Bytes;
using engine::BytesPerSecond;
using engine::microseconds;
using engine::Seconds;
using namespace engine::literals;

constexpr BytesPerSecond kRate = 55_GBps;

TEST(CopyFit, FindsSetupAndRate) {
  std::vector<TransferTime> times;
  for (const Bytes size : {64_KiB, 1_MiB, 64_MiB})
    times.push_back({size, 1, 1.9_us + size / kRate});
  const TransferFit fit = fit_copies(times);
  EXPECT_NEAR(microseconds(fit.start), 1.9, 1e-6);
  EXPECT_EQ(fit.each.count(), 0.0);
  EXPECT_NEAR(fit.rate / kRate, 1.0, 1e-9);
  EXPECT_NEAR(fit.worst_error, 0.0, 1e-9);
}

TEST(CopyFit, ALargeCopyThatIsOffDoesNotHideTheSetup) {
  // 0.1% of 64 MiB is as much as the set-up: errors count as shares, not as times.
  std::vector<TransferTime> times;
  for (const Bytes size : {64_KiB, 128_KiB, 256_KiB, 512_KiB, 1_MiB, 16_MiB}) {
    times.push_back({size, 1, 1.9_us + size / kRate});
  }
  times.push_back({64_MiB, 1, (1.9_us + 64_MiB / kRate) * 1.001});
  const TransferFit fit = fit_copies(times);
  EXPECT_NEAR(microseconds(fit.start), 1.9, 0.02);
  EXPECT_NEAR(fit.rate / kRate, 1.0, 0.001);
  EXPECT_LT(fit.worst_error, 0.001);
}

TEST(CopyFit, SaysWhenSizesMakeNoDifference) {
  const std::array times = {TransferTime{1_MiB, 1, 3_us}, TransferTime{2_MiB, 1, 2_us}};
  EXPECT_THROW((void)fit_copies(times), CalibrationFailed);
}

TEST(BatchFit, TellsTheBatchFromItsCopies) {
  std::vector<TransferTime> times;
  for (const Bytes size : {64_KiB, 2_MiB}) {
    for (const int count : {2, 8, 64}) {
      const double copies = count;
      times.push_back({size, count, 1.5_us + copies * (0.2_us + size / kRate)});
    }
  }
  const TransferFit fit = fit_batches(times);
  EXPECT_NEAR(microseconds(fit.start), 1.5, 1e-6);
  EXPECT_NEAR(microseconds(fit.each), 0.2, 1e-6);
  EXPECT_NEAR(fit.rate / kRate, 1.0, 1e-9);
}

TEST(CallFit, TellsTheCallFromItsCopies) {
  std::vector<CallTime> times;
  for (const int count : {2, 4, 8, 64}) times.push_back({count, 1_us + count * 0.3_us});
  const CallFit fit = fit_calls(times);
  EXPECT_NEAR(microseconds(fit.start), 1.0, 1e-6);
  EXPECT_NEAR(microseconds(fit.each), 0.3, 1e-6);
}

/// Of steps of known work.
struct WorkSums {
  Eigen::MatrixXd square = Eigen::MatrixXd::Zero(3, 3);
  Eigen::VectorXd time = Eigen::VectorXd::Zero(3);

  void add(const Eigen::Vector3d& work, Seconds took) {
    square += work * work.transpose();
    time += work * took.count();
  }
};

TEST(WorkFit, TellsTheKindsOfWorkApart) {
  WorkSums sums;
  sums.add({1, 0, 2}, 1_us + 2 * 0.25_us);
  sums.add({2, 1, 0}, 2 * 1_us + 3_us);
  sums.add({0, 1, 4}, 3_us + 4 * 0.25_us);
  const std::vector<Seconds> costs = fit_work(sums.square, sums.time);
  ASSERT_EQ(costs.size(), 3U);
  EXPECT_NEAR(microseconds(costs[0]), 1.0, 1e-6);
  EXPECT_NEAR(microseconds(costs[1]), 3.0, 1e-6);
  EXPECT_NEAR(microseconds(costs[2]), 0.25, 1e-6);
}

TEST(WorkFit, NoWorkCostsLessThanNothing) {
  WorkSums sums;  // the second kind seems to save time
  sums.add({2, 0, 0}, 2_us);
  sums.add({2, 1, 0}, 1.5_us);
  const std::vector<Seconds> costs = fit_work(sums.square, sums.time);
  EXPECT_NEAR(microseconds(costs[0]), 0.875, 1e-6);
  EXPECT_EQ(costs[1], 0_us);
  EXPECT_EQ(costs[2], 0_us) << "it never occurs";
}

TEST(ConcurrencyFit, IsHowManyCopiesEndTogether) {
  EXPECT_EQ(fit_concurrency(std::array{1_us, 2_us, 3_us, 4_us}), 1);
  EXPECT_EQ(fit_concurrency(std::array{4_us, 2.1_us, 4_us, 2_us}), 2);
  EXPECT_EQ(fit_concurrency(std::array{3.9_us, 4_us, 3.8_us, 4_us}), 4);
  EXPECT_EQ(fit_concurrency(std::array{5_us}), 1);
}

TEST(SetupOverlapFit, IsWhatLongCopiesHide) {
  // 2 us of set-up, of which long copies show a quarter; a short one needs 0.1 us on the wire.
  EXPECT_NEAR(fit_setup_overlap(0.5_us, 2_us, 0.1_us), 0.75, 1e-12);
  EXPECT_EQ(fit_setup_overlap(0_us, 2_us, 0.1_us), 1.0);
}

TEST(SetupOverlapFit, IsNoneWhereShortCopiesShowNoMoreThanLongOnes) {
  EXPECT_EQ(fit_setup_overlap(2_us, 2.1_us, 0.1_us), 0.0);
  EXPECT_EQ(fit_setup_overlap(2_us, 1.6_us, 0.1_us), 0.0);
  EXPECT_EQ(fit_setup_overlap(2_us, 2.2_us, 0.1_us), 0.0);  // noise
}

}  // namespace
}  // namespace hoccl::hw
