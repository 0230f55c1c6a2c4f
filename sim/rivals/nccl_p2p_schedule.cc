#include "sim/rivals/nccl_p2p_schedule.h"

#include <bit>
#include <numeric>

#include "engine/base/check.h"

namespace hoccl::sim {
namespace {

using engine::NodeId;
using engine::Rank;
using engine::Topology;

/// Works of one batch, and the default of P2P_SCHEDULE_GROUP_SIZE (src/include/device.h
/// NCCL_MAX_DEV_WORK_P2P_PER_BATCH).
constexpr int kGroupSize = 8;

int group_size_of(const Topology& topology) {
  if (topology.node_count() == 1) return topology.rank_count();
  int size = kGroupSize;
  for (int node = 0; node < topology.node_count(); ++node) {
    size = std::gcd(size, static_cast<int>(topology.ranks_of(NodeId(node)).size()));
  }
  return size;
}

/// The lowest bits of `value`, of which a number below `limit` (a power of two) has as many, in
/// reverse order.
unsigned reversed_bits(unsigned value, unsigned limit) {
  unsigned result = 0;
  for (unsigned bit = 1; bit < limit; bit <<= 1U) {
    result = (result << 1U) | (value & 1U);
    value >>= 1U;
  }
  return result;
}

}  // namespace

NcclP2pSchedule::NcclP2pSchedule(const Topology& topology)
    : rank_count_(topology.rank_count()),
      one_node_(topology.node_count() == 1),
      group_size_(group_size_of(topology)),
      turn_of_delta_(static_cast<std::size_t>(rank_count_ / group_size_)) {
  // Distances 0, 1, 3, 6, 10, ... modulo a power of two: every one once.
  const auto groups = static_cast<unsigned>(turn_of_delta_.size());
  const unsigned rounds = std::bit_ceil(groups);
  unsigned delta = 0;
  int turn = 0;
  for (unsigned round = 0; round < rounds; delta = (delta + ++round) & (rounds - 1)) {
    if (delta < groups) turn_of_delta_[delta] = turn++;
  }
  HOCCL_CHECK(turn == static_cast<int>(groups), "{} turns of {} groups", turn, groups);
}

int NcclP2pSchedule::round_of(Rank source, Rank target) const {
  const auto groups = static_cast<int>(turn_of_delta_.size());
  const int group_delta =
      (target.value() / group_size_ - source.value() / group_size_ + groups) % groups;
  const int local_delta =
      (target.value() % group_size_ - source.value() % group_size_ + group_size_) % group_size_;
  return turn_of_delta_[static_cast<std::size_t>(group_delta)] * group_size_ + local_delta;
}

int NcclP2pSchedule::channel_of(int round, int part, int channel_count) const {
  const int base = one_node_ ? round : round / group_size_;
  const auto limit = static_cast<unsigned>(channel_count);
  // NCCL itself has powers of two only; parts of a message must not meet on one channel.
  if (!std::has_single_bit(limit)) return (base + part) % channel_count;
  const unsigned channel = (reversed_bits(static_cast<unsigned>(base), limit) +
                            reversed_bits(static_cast<unsigned>(part), limit)) &
                           (limit - 1);
  return static_cast<int>(channel);
}

}  // namespace hoccl::sim
