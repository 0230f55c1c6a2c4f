#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "sim/calibration/calibration.h"
#include "sim/machine/clock.h"
#include "sim/rivals/stream_steps.h"

namespace hoccl::sim {

/// Barriers of NCCL's copy-engine collectives, before and after the bytes (NCCL 2.31,
/// src/ce_coll.cc): every rank copies a flag of 4 bytes to each peer of its node and waits for
/// theirs; between nodes the rails' proxies signal each other meanwhile.
class NcclZeroBarriers : public StreamSteps {
 public:
  /// `clock` must outlive it; `members`: the ranks that take part, each with one stream.
  NcclZeroBarriers(Clock& clock, const engine::Topology& topology, const Calibration& calibration,
                   const std::vector<engine::Rank>& members);

  void before(engine::Rank rank, GpuStream& stream) override { arrive(rank, stream); }
  void after(engine::Rank rank, GpuStream& stream) override { arrive(rank, stream); }

 private:
  struct Barrier {
    std::vector<GpuStream*> waiting;
  };

  void arrive(engine::Rank rank, GpuStream& stream);
  void passed(std::uint64_t barrier);

  Clock& clock_;
  std::size_t member_count_;
  engine::Seconds time_;  ///< from the last arrival on
  std::vector<std::uint64_t> next_of_rank_;
  std::vector<GpuStream*> stream_of_rank_;
  std::deque<Barrier> barriers_;
  std::uint64_t first_ = 0;  ///< number of barriers_.front()
};

}  // namespace hoccl::sim
