#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/base/units.h"
#include "experiments/contention/conditions.h"
#include "experiments/contention/gemm.h"
#include "experiments/contention/gpu_monitor.h"

namespace hoccl::contention {

/// One burst of products beside one condition's traffic.
struct Measured {
  int round = 0;
  std::size_t condition = 0;
  Gemm::Burst burst;
  engine::BytesPerSecond to_host;  ///< while the products ran
  engine::BytesPerSecond to_device;
  engine::BytesPerSecond by_sms;
  std::optional<GpuState> gpu;
};

Measured measure(const Condition& condition, Gemm& gemm, int groups, const LoadSetup& setup,
                 GpuMonitor* monitor);

/// Every round measures each condition once, in an order of its own drawn from the seed, so that
/// clocks and temperature drift equally for all and none always follows the same other.
std::vector<Measured> measure_rounds(const std::vector<Condition>& conditions, Gemm& gemm,
                                     int groups, int rounds, std::uint64_t seed,
                                     const LoadSetup& setup, GpuMonitor* monitor);

}  // namespace hoccl::contention
