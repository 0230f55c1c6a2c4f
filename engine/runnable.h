#pragma once

#include "engine/base/units.h"
#include "engine/schedule/compile.h"
#include "engine/schedule/verifier.h"
#include "engine/topology/topology.h"
#include "engine/traffic.h"

namespace hoccl::engine {

/// Largest job whose plan is compiled whole and verified before it runs. A rank only ever compiles
/// its own node's part, which is no plan the verifier could judge (it cannot see who else delivers
/// a byte or uses a NIC), and an AllToAll of 1024 ranks has a million transfers: there compiling
/// one node's part shows bad options, and that parts are those of a sound whole is the tests'
/// business.
inline constexpr int kMostVerifiedRanks = 300;

/// Throws ConfigError when the traffic cannot be carried at this size, and when its plan is wrong.
void require_runnable(const Traffic& traffic, Bytes size, const Topology& topology,
                      const CompileOptions& options, const SlotSupply& slots);

}  // namespace hoccl::engine
