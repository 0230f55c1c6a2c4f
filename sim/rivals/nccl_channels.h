#pragma once

#include <vector>

#include "engine/base/ids.h"
#include "engine/base/units.h"
#include "engine/topology/topology.h"
#include "sim/calibration/calibration.h"

namespace hoccl::sim {

/// How one message between two ranks is spread over channels. Both ends compute the same.
struct NcclSplit {
  int first_channel = 0;
  /// Bytes of channel (first_channel + i) mod k.
  std::vector<engine::Bytes> parts;
};

/// NCCL's rule (2.29.2 and later; src/graph/paths.cc ncclTopoGetNchannels, src/enqueue.cc
/// addP2pToPlan): at most `channel_limit` channels; between nodes no more than the NIC's rate needs
/// at `channel_net_rate` each, so that eight SMs do not poll where four fill the NIC; parts are no
/// smaller than `part_min`.
NcclSplit split_over_channels(const engine::Topology& topology, const NcclConstants& constants,
                              int channel_limit, engine::Rank source, engine::Rank target,
                              engine::Bytes size);

}  // namespace hoccl::sim
