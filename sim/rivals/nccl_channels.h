#pragma once

#include <vector>

#include "engine/base/ids.h"
#include "engine/base/units.h"
#include "engine/topology/topology.h"
#include "sim/calibration/calibration.h"

namespace hoccl::sim {

/// How one message between two ranks is spread over channels: bytes of each part. Both ends compute
/// the same.
/// NCCL's rule (2.29.2 and later; src/graph/paths.cc ncclTopoGetNchannels, src/enqueue.cc
/// addP2pToPlan): at most `channel_limit` parts; between nodes no more than the NIC's rate needs
/// at `channel_net_rate` each, so that eight SMs do not poll where four fill the NIC; parts are no
/// smaller than `part_min`.
std::vector<engine::Bytes> split_over_channels(const engine::Topology& topology,
                                               const NcclConstants& constants, int channel_limit,
                                               engine::Rank source, engine::Rank target,
                                               engine::Bytes size);

/// Bytes per channel of one block of a ring, which never are fewer than `part_min` on several.
std::vector<engine::Bytes> split_over_rings(const NcclConstants& constants, int channel_limit,
                                            engine::Bytes size);

}  // namespace hoccl::sim
