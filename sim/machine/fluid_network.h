#pragma once

#include <memory>

#include "sim/machine/network.h"

namespace hoccl::sim {

/// Our max-min solver, as a model inside SimGrid's engine.
std::unique_ptr<Network> make_fluid_network(Clock& clock);

}  // namespace hoccl::sim
