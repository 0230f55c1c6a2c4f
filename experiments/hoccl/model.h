#pragma once

#include <string>

#include "engine/topology/topology.h"
#include "experiments/hoccl/options.h"
#include "sim/calibration/calibration.h"
#include "sim/machine/network.h"

namespace hoccl::cli {

/// The calibration with what --set replaces in it. Throws ConfigError.
sim::Calibration resolve_calibration(const ModelOptions& options, const engine::Topology& topology);
/// Its name, and the constants that --set replaced.
std::string describe_calibration(const ModelOptions& options, const sim::Calibration& calibration);
/// Throws ConfigError.
sim::NetworkKind resolve_network(const std::string& name);

}  // namespace hoccl::cli
