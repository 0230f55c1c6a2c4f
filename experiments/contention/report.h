#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "engine/base/units.h"
#include "experiments/contention/conditions.h"
#include "experiments/contention/measurement.h"

namespace hoccl::contention {

/// `fraction` 0.5: the median. Of values in any order, at least one.
double quantile(std::vector<double> values, double fraction);

/// A ratio to the undisturbed product of the same round, over all rounds.
struct Change {
  double median_pct = 0;
  double lowest_pct = 0;
  double highest_pct = 0;
};

struct Summary {
  std::string name;
  std::size_t products = 0;
  double median_us = 0;
  double p10_us = 0;
  double p90_us = 0;
  Change time;    ///< of the rounds' median times
  Change cycles;  ///< of the same times the SM's clock: what a lower clock does not explain
  double to_host_gb_per_s = 0;
  double to_device_gb_per_s = 0;
  double by_sms_gb_per_s = 0;
  double sm_clock_mhz = 0;  ///< as an SM counts it
  GpuState gpu;             ///< as the driver tells it; no samples: unknown
};

/// By condition; the first one is the undisturbed product.
std::vector<Summary> summarise(const std::vector<Condition>& conditions,
                               const std::vector<Measured>& measured);

std::string table(const std::vector<Summary>& summaries, double operations);

/// One row per product.
void write_csv(std::ostream& stream, const std::vector<Condition>& conditions,
               const std::vector<Measured>& measured);

}  // namespace hoccl::contention
