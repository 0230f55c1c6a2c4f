#include "sim/rivals/nccl_zero.h"

#include <algorithm>

#include "engine/base/check.h"

namespace hoccl::sim {

using engine::Rank;
using engine::Seconds;

namespace {

/// Flags to the node's peers, then the wait; a rail's signal between nodes goes beside it.
Seconds barrier_time(const engine::Topology& topology, const Calibration& calibration) {
  std::size_t largest = 1;
  for (int node = 0; node < topology.node_count(); ++node) {
    largest = std::max(largest, topology.ranks_of(engine::NodeId(node)).size());
  }
  const Seconds local = calibration.nccl_zero.barrier +
                        static_cast<double>(largest) * calibration.nccl_zero.flag_copy;
  if (topology.node_count() == 1) return local;
  const Seconds rail = calibration.gate.ready_latency + calibration.message.remote_latency +
                       calibration.gate.resume_latency;
  return std::max(local, rail);
}

}  // namespace

NcclZeroBarriers::NcclZeroBarriers(Clock& clock, const engine::Topology& topology,
                                   const Calibration& calibration)
    : clock_(clock),
      rank_count_(static_cast<std::size_t>(topology.rank_count())),
      time_(barrier_time(topology, calibration)),
      next_of_rank_(rank_count_, 0) {}

void NcclZeroBarriers::arrive(Rank rank, GpuStream& stream) {
  const std::uint64_t number = next_of_rank_[rank.index()]++;
  HOCCL_CHECK(number >= first_, "rank {} is at a barrier that all have passed", rank);
  while (first_ + barriers_.size() <= number) barriers_.emplace_back();
  Barrier& barrier = barriers_[number - first_];
  barrier.waiting.push_back(&stream);
  if (barrier.waiting.size() == rank_count_) {
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
