#pragma once

#include <vector>

#include "engine/base/units.h"

namespace hoccl::engine {

/// One GPU of a node, in one direction (all in, or all out).
struct RelayPort {
  Bytes own;            ///< what crosses its NVLink for its own rank
  BytesPerSecond nics;  ///< what its NICs carry
};

/// A lower bound on the time, as load over rate, with the number of GPUs whose NVLink it counts.
struct NodeCut {
  Bytes load;
  BytesPerSecond rate;
  std::size_t gpus = 0;
};

/// `relayed` bytes cross the NICs of a node, each staged in the memory of the GPU that its NIC is
/// next to, so each crosses that GPU's NVLink once more. In time T, GPU v can relay at most
/// min(nics_v T, nvlink T - own_v). So for any set U of GPUs,
///   relayed <= sum over U of (nvlink T - own_v) + sum over the others of nics_v T,
///   T >= (relayed + sum over U of own_v) / (nvlink |U| + sum over the others of nics_v).
/// This returns the set for which that is largest. The sum of the minima only falls as T falls, so
/// there is an assignment at the T returned: in these ports the bound is attained.
NodeCut worst_cut(Bytes relayed, const std::vector<RelayPort>& gpus, BytesPerSecond nvlink);

}  // namespace hoccl::engine
