#include "sim/rivals/nccl_zero.h"

#include <algorithm>
#include <map>

#include "engine/base/check.h"

namespace hoccl::sim {

using engine::Rank;
using engine::Seconds;

namespace {

/// Flags to the node's peers, then the wait; a rail's signal between nodes goes beside it.
Seconds barrier_time(const engine::Topology& topology, const Calibration& calibration,
                     const std::vector<Rank>& members) {
  std::map<engine::NodeId, int> by_node;
  int largest = 0;
  for (const Rank rank : members) largest = std::max(largest, ++by_node[topology.node_of(rank)]);
  const Seconds local = calibration.nccl_zero.barrier + largest * calibration.nccl_zero.flag_copy;
  if (by_node.size() == 1) return local;
  const Seconds rail = calibration.gate.ready_latency + calibration.message.remote_latency +
                       calibration.gate.resume_latency;
  return std::max(local, rail);
}

}  // namespace

NcclZeroBarriers::NcclZeroBarriers(Clock& clock, const engine::Topology& topology,
                                   const Calibration& calibration, const std::vector<Rank>& members)
    : clock_(clock),
      member_count_(members.size()),
      time_(barrier_time(topology, calibration, members)),
      next_of_rank_(static_cast<std::size_t>(topology.rank_count()), 0),
      stream_of_rank_(next_of_rank_.size(), nullptr) {}

void NcclZeroBarriers::arrive(Rank rank, GpuStream& stream) {
  GpuStream*& known = stream_of_rank_[rank.index()];
  HOCCL_CHECK(known == nullptr || known == &stream, "rank {}: collectives on several streams",
              rank);
  known = &stream;
  const std::uint64_t number = next_of_rank_[rank.index()]++;
  HOCCL_CHECK(number >= first_, "rank {} is at a barrier that all have passed", rank);
  while (first_ + barriers_.size() <= number) barriers_.emplace_back();
  Barrier& barrier = barriers_[number - first_];
  barrier.waiting.push_back(&stream);
  if (barrier.waiting.size() == member_count_) {
    clock_.after(time_, Callback::to<&NcclZeroBarriers::passed>(*this, number));
  }
}

void NcclZeroBarriers::passed(std::uint64_t number) {
  HOCCL_CHECK(number == first_, "barrier {} ends before barrier {}", number, first_);
  const Barrier barrier = std::move(barriers_.front());
  barriers_.pop_front();
  ++first_;
  for (GpuStream* stream : barrier.waiting) stream->release();
}

}  // namespace hoccl::sim
