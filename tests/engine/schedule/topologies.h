#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/base/units.h"
#include "engine/topology/topology.h"

namespace hoccl::engine {

// Rates of the test clusters; unlike each other, so that no port is mistaken for another.
inline constexpr BytesPerSecond kNvlinkRate{200e9};
inline constexpr BytesPerSecond kNicRate{50e9};

/// `nodes` of `gpus` with `nics_per_gpu` NICs each, everything else plain.
TopologyDescription cluster_description(int nodes, int gpus, int nics_per_gpu = 1);
Topology cluster(int nodes, int gpus, int nics_per_gpu = 1);
/// The same with staging in host memory.
Topology host_staged_cluster(int nodes, int gpus);

/// Text of the ConfigError that `action` throws, or "accepted".
std::string refusal(const std::function<void()>& action);

}  // namespace hoccl::engine
