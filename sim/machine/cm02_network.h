#pragma once

#include <memory>

#include "sim/machine/network.h"

namespace hoccl::sim {

/// SimGrid's own model (CM02): every flow is a detached host-to-host Comm.
std::unique_ptr<Network> make_cm02_network(Clock& clock);

}  // namespace hoccl::sim
