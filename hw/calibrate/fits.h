#pragma once

#include <Eigen/Core>
#include <span>
#include <vector>

#include "engine/base/units.h"

namespace hoccl::hw {

/// What one call's worth of copies took: `count` copies of `size` each.
struct TransferTime {
  engine::Bytes size;
  int count = 1;
  engine::Seconds time;
};

/// time = start + count * each + count * size / rate.
struct TransferFit {
  engine::Seconds start{0.0};
  engine::Seconds each{0.0};
  engine::BytesPerSecond rate;
  double worst_error = 0.0;  ///< largest |fitted / measured - 1|
};

/// Copies handed over alone (count 1): `each` stays 0. Least squares of the relative errors, as
/// both a 64 KiB and a 64 MiB copy should come out right. At least two sizes.
TransferFit fit_copies(std::span<const TransferTime> times);
/// Batches: at least two sizes and two counts.
TransferFit fit_batches(std::span<const TransferTime> times);

/// What a call took that hands over `count` things.
struct CallTime {
  int count = 1;
  engine::Seconds time;
};
/// time = start + count * each.
struct CallFit {
  engine::Seconds start{0.0};
  engine::Seconds each{0.0};
  double worst_error = 0.0;
};
/// Least squares of the relative errors; at least two counts.
CallFit fit_calls(std::span<const CallTime> times);

/// What each kind of work costs, none less than nothing, so that the times of steps come out best:
/// `square` and `time` are the sums of work times work and of work times seconds over all steps,
/// one row per kind (least squares by the normal equations). A kind that never occurs costs
/// nothing.
std::vector<engine::Seconds> fit_work(const Eigen::MatrixXd& square, const Eigen::VectorXd& time);

/// How many of equal copies an engine serves at a time. They were given to it at once, one per
/// stream, and end at `ends` (any order). Turns: the first of n ends after 1/n of the time; shared
/// between all: with the last.
int fit_concurrency(std::span<const engine::Seconds> ends);

/// Share of a copy's set-up that hides behind the transfer before it. Back to back, long copies
/// show only what does not hide (`exposed`), while short ones, which take `spacing` each and
/// `transfer` on the wire, cannot hide any.
double fit_setup_overlap(engine::Seconds exposed, engine::Seconds spacing,
                         engine::Seconds transfer);

}  // namespace hoccl::hw
