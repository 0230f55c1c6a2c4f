#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "sim/calibration/calibration.h"
#include "sim/machine/clock.h"
#include "sim/rivals/registrations.h"
#include "sim/rivals/stream_steps.h"

namespace hoccl::sim {

/// VCCL's host function (main branch, src/enqueue.cc hostProxySyncCallback): it tells the proxy
/// that the stream has come this far and spins until the operation has ended. CUDA has one thread
/// for the host functions of a process, so operations of different streams wait for each other.
class VcclHostFunctions : public StreamSteps {
 public:
  /// `clock` must outlive it.
  VcclHostFunctions(Clock& clock, int rank_count, const Calibration& calibration,
                    const RegistrationLoad& load);

  void before(engine::Rank rank, GpuStream& stream) override;
  void after(engine::Rank rank, GpuStream& stream) override;

 private:
  /// The thread of one process.
  struct Thread {
    std::deque<GpuStream*> waiting;  ///< front has it
  };

  void begin_front(engine::Rank rank);
  void began(std::uint64_t rank);
  void ended(std::uint64_t rank);

  Clock& clock_;
  VcclConstants constants_;
  GateConstants gate_;
  Registrations registrations_;
  std::vector<Thread> threads_;  ///< by rank
};

}  // namespace hoccl::sim
