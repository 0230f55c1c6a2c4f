#pragma once

#include "engine/base/units.h"

namespace hoccl::engine {

/// The rates a bound is computed with: the topology's nominal ones, or the calibrated ones that the
/// model cannot exceed either. Per GPU and direction, per NIC and direction.
struct Rates {
  BytesPerSecond nvlink;
  BytesPerSecond nic;
  BytesPerSecond pcie_one_way;
  BytesPerSecond pcie_both_ways;  ///< each direction, while both are busy
  /// What a GPU's copy engine executes at most, one class; infinite when the port is the limit.
  BytesPerSecond copy_engine;
};

}  // namespace hoccl::engine
