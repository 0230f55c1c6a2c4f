#pragma once

#include <string>
#include <vector>

#include "engine/base/units.h"
#include "hw/calibrate/calibrate.h"
#include "hw/calibrate/sample_series.h"

namespace hoccl::hw {

// What registering memory with an RDMA NIC costs: names of the series, in the order of a round.

/// Memory that nobody has touched: the kernel finds and clears its pages within the call.
inline constexpr const char* kFirstTouch = "first_touch";
/// The same memory, with its pages, registered once more.
inline constexpr const char* kAgain = "again";
inline constexpr const char* kDeregister = "deregister";
/// A further buffer of a registered allocation, through hw/link/user_buffers.h.
inline constexpr const char* kCached = "cached";

struct RegistrationRequest {
  std::string device;  ///< as "mlx5_0", or with its port "mlx5_0:1"
  engine::Bytes begin;
  engine::Bytes end;  ///< sizes double up to here
  int rounds = 0;
};

/// What the samples come from, for people.
struct RegistrationMachine {
  std::string device;      ///< "mlx5_0, driver mlx5_core, firmware 28.39.1002"
  std::string host;        ///< CPU, cores, kernel
  std::string huge_pages;  ///< the kernel's setting: "always [madvise] never"
  std::string date;        ///< "2025-06-30"
  /// What is no hardware, one line each; empty: nothing.
  std::vector<std::string> emulated;
};

/// Throws ConfigError: this program has no RDMA, this machine no such device, or the sizes do not
/// fit its memory.
void require_registration(const RegistrationRequest& request);

/// Throws as require_registration().
RegistrationMachine describe_registration(const std::string& device);

/// One sample per round, series and size, after a round that is not counted. Throws as
/// require_registration(), VerbsError, CalibrationFailed.
Samples measure_registration(const RegistrationRequest& request, const Progress& progress);

}  // namespace hoccl::hw
