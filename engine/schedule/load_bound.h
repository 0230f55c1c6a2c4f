#pragma once

#include "engine/schedule/longest.h"
#include "engine/schedule/port_loads.h"
#include "engine/schedule/port_rates.h"

namespace hoccl::engine {

/// The ports of GPUs: NVLink, copy engines, PCIe.
void consider_gpus(Longest& longest, const PortLoads& loads, const PortRates& rates);

}  // namespace hoccl::engine
