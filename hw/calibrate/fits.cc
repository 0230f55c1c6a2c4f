#include "hw/calibrate/fits.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/base/check.h"
#include "hw/calibrate/calibration_failed.h"

namespace hoccl::hw {

using engine::Bytes;
using engine::BytesPerSecond;
using engine::Seconds;

namespace {

/// Nearer to each other, two times do not tell a set-up that hides from noise.
constexpr double kTolerance = 1.1;

struct Solution {
  Eigen::VectorXd factors;
  double worst_error = 0.0;
};

/// Factors that minimise sum (row * factors / time - 1)^2.
Solution solve(const Eigen::MatrixXd& rows, const Eigen::VectorXd& times) {
  const Eigen::MatrixXd relative = times.cwiseInverse().asDiagonal() * rows;
  const Eigen::VectorXd ones = Eigen::VectorXd::Ones(times.size());
  Solution solution;
  // Columns of 1 and of 1e8 bytes: without scaling the small ones would drown.
  const Eigen::VectorXd scale = relative.colwise().norm();
  const Eigen::MatrixXd scaled = relative * scale.cwiseInverse().asDiagonal();
  solution.factors = scaled.colPivHouseholderQr().solve(ones).cwiseQuotient(scale);
  solution.worst_error = (relative * solution.factors - ones).cwiseAbs().maxCoeff();
  return solution;
}

BytesPerSecond rate_of(double seconds_per_byte) {
  if (!(seconds_per_byte > 0.0)) {
    throw CalibrationFailed("copies do not take longer when they are larger");
  }
  return BytesPerSecond(1.0 / seconds_per_byte);
}

}  // namespace

TransferFit fit_copies(std::span<const TransferTime> times) {
  HOCCL_CHECK(times.size() >= 2, "{} sizes", times.size());
  const auto count = static_cast<Eigen::Index>(times.size());
  Eigen::MatrixXd rows(count, 2);
  Eigen::VectorXd measured(count);
  for (Eigen::Index i = 0; i < count; ++i) {
    const TransferTime& each = times[static_cast<std::size_t>(i)];
    rows.row(i) << 1.0, static_cast<double>(each.size.count());
    measured(i) = each.time.count();
  }
  const Solution solution = solve(rows, measured);
  return {.start = Seconds(solution.factors(0)),
          .rate = rate_of(solution.factors(1)),
          .worst_error = solution.worst_error};
}

TransferFit fit_batches(std::span<const TransferTime> times) {
  HOCCL_CHECK(times.size() >= 3, "{} batches", times.size());
  const auto count = static_cast<Eigen::Index>(times.size());
  Eigen::MatrixXd rows(count, 3);
  Eigen::VectorXd measured(count);
  for (Eigen::Index i = 0; i < count; ++i) {
    const TransferTime& each = times[static_cast<std::size_t>(i)];
    const double copies = each.count;
    rows.row(i) << 1.0, copies, copies * static_cast<double>(each.size.count());
    measured(i) = each.time.count();
  }
  const Solution solution = solve(rows, measured);
  return {.start = Seconds(solution.factors(0)),
          .each = Seconds(solution.factors(1)),
          .rate = rate_of(solution.factors(2)),
          .worst_error = solution.worst_error};
}

CallFit fit_calls(std::span<const CallTime> times) {
  HOCCL_CHECK(times.size() >= 2, "{} counts", times.size());
  const auto count = static_cast<Eigen::Index>(times.size());
  Eigen::MatrixXd rows(count, 2);
  Eigen::VectorXd measured(count);
  for (Eigen::Index i = 0; i < count; ++i) {
    const CallTime& each = times[static_cast<std::size_t>(i)];
    rows.row(i) << 1.0, each.count;
    measured(i) = each.time.count();
  }
  const Solution solution = solve(rows, measured);
  return {.start = Seconds(solution.factors(0)),
          .each = Seconds(solution.factors(1)),
          .worst_error = solution.worst_error};
}

/// Few kinds: every choice of those that cost anything is tried, and the best whose costs are all
/// positive is the solution.
std::vector<Seconds> fit_work(const Eigen::MatrixXd& square, const Eigen::VectorXd& time) {
  const Eigen::Index kinds = time.size();
  HOCCL_CHECK(square.rows() == kinds && square.cols() == kinds, "{} x {} sums of {} kinds",
              square.rows(), square.cols(), kinds);
  HOCCL_CHECK(kinds <= 16, "{} kinds of work", kinds);
  std::vector<Seconds> best(static_cast<std::size_t>(kinds), Seconds(0.0));
  double best_gain = 0.0;
  for (unsigned chosen = 1; chosen < 1U << static_cast<unsigned>(kinds); ++chosen) {
    std::vector<Eigen::Index> kept;
    for (Eigen::Index kind = 0; kind < kinds; ++kind) {
      if ((chosen >> static_cast<unsigned>(kind) & 1U) != 0 && square(kind, kind) > 0.0) {
        kept.push_back(kind);
      }
    }
    if (kept.empty()) continue;
    const Eigen::VectorXd right = time(kept);
    const Eigen::VectorXd costs = square(kept, kept).completeOrthogonalDecomposition().solve(right);
    // How much of the sum of squared times is explained.
    const double gain = costs.dot(right);
    if (costs.minCoeff() < 0.0 || gain <= best_gain) continue;
    best_gain = gain;
    std::ranges::fill(best, Seconds(0.0));
    for (std::size_t i = 0; i < kept.size(); ++i) {
      best[static_cast<std::size_t>(kept[i])] = Seconds(costs(static_cast<Eigen::Index>(i)));
    }
  }
  return best;
}

int fit_concurrency(std::span<const Seconds> ends) {
  HOCCL_CHECK(!ends.empty(), "no copies");
  const auto [first, last] = std::ranges::minmax(ends);
  const auto count = static_cast<double>(ends.size());
  const double served = std::round(count * (first / last));
  return static_cast<int>(std::clamp(served, 1.0, count));
}

double fit_setup_overlap(Seconds exposed, Seconds spacing, Seconds transfer) {
  if (spacing <= (exposed + transfer) * kTolerance) return 0.0;
  return std::clamp(1.0 - std::max(exposed, Seconds(0.0)) / spacing, 0.0, 1.0);
}

}  // namespace hoccl::hw
