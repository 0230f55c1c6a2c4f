#pragma once

#include <optional>
#include <string>

#include "engine/schedule/plan.h"
#include "engine/schedule/rates.h"
#include "engine/topology/topology.h"

namespace hoccl::engine {

/// What a plan does, for people: the length of its stages against the lower bound, its transfers,
/// its stages, the load of every rail, bytes on NVLink and NICs per GPU, and the bound at nominal
/// and, when given, at calibrated rates. Aligned text
/// that ends in a line end; only ports with a load are listed, of long lists the first rows. The
/// plan must have passed the verifier.
std::string describe(const Plan& plan, const Topology& topology,
                     const std::optional<Rates>& calibrated = std::nullopt);

}  // namespace hoccl::engine
