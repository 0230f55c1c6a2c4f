#include "sim/rivals/nccl_channels.h"

#include <algorithm>
#include <cmath>

namespace hoccl::sim {
namespace {

using engine::Bytes;
using engine::BytesPerSecond;
using engine::Topology;

// Parts begin at whole multiples, so that copies stay aligned to memory sectors.
constexpr Bytes kPartAlignment(512);

int network_channels(const Topology& topology, const NcclConstants& constants, engine::GpuId gpu) {
  const BytesPerSecond rate = topology.nic(topology.nics_of(gpu).front()).rate;
  return static_cast<int>(std::ceil(rate / constants.channel_net_rate));
}

std::vector<Bytes> even_parts(Bytes size, int count) {
  std::vector<Bytes> parts;
  const Bytes even =
      kPartAlignment * chunk_count(chunk_count(size, Bytes(count)) * Bytes(1), kPartAlignment);
  Bytes rest = size;
  for (int i = 0; i < count; ++i) {
    const Bytes part = std::min(rest, even);
    parts.push_back(part);
    rest -= part;
  }
  return parts;
}

int useful_channels(const NcclConstants& constants, int limit, Bytes size) {
  const std::int64_t useful = std::max<std::int64_t>(1, chunk_count(size, constants.part_min));
  return static_cast<int>(std::min<std::int64_t>(limit, useful));
}

}  // namespace

std::vector<Bytes> split_over_channels(const Topology& topology, const NcclConstants& constants,
                                       int channel_limit, engine::Rank source, engine::Rank target,
                                       Bytes size) {
  int count = channel_limit;
  if (topology.node_of(source) != topology.node_of(target)) {
    count = std::min(count, network_channels(topology, constants, topology.gpu_of(source)));
  }
  return even_parts(size, useful_channels(constants, count, size));
}

std::vector<Bytes> split_over_rings(const NcclConstants& constants, int channel_limit, Bytes size) {
  return even_parts(size, useful_channels(constants, channel_limit, size));
}

}  // namespace hoccl::sim
