#pragma once

#include "sim/fabric/sim_fabric.h"
#include "sim/rivals/nccl_environment.h"

namespace hoccl::sim {

/// NCCL's view of the machine that a fabric's ports stand on. The fabric must outlive it.
NcclEnvironment nccl_environment_of(SimFabric& fabric, const NcclConstants& constants,
                                    engine::Seconds end_latency = engine::Seconds(0.0));

}  // namespace hoccl::sim
