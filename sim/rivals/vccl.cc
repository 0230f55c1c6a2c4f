#include "sim/rivals/vccl.h"

#include <algorithm>

#include "engine/base/check.h"

namespace hoccl::sim {

using engine::Rank;
using engine::Seconds;

VcclHostFunctions::VcclHostFunctions(Clock& clock, int rank_count, const Calibration& calibration,
                                     const RegistrationLoad& load)
    : clock_(clock),
      constants_(calibration.vccl),
      gate_(calibration.gate),
      registrations_(calibration.registration, load),
      threads_(static_cast<std::size_t>(rank_count)) {}

void VcclHostFunctions::before(Rank rank, GpuStream& stream) {
  Thread& thread = threads_[rank.index()];
  thread.waiting.push_back(&stream);
  if (thread.waiting.size() == 1) begin_front(rank);
}

void VcclHostFunctions::begin_front(Rank rank) {
  // The gate behind it takes the latency of a memory operation once more.
  const Seconds start =
      std::max(constants_.host_function_start - gate_.ready_latency, Seconds(0.0));
  clock_.after(start + registrations_.next(), Callback::to<&VcclHostFunctions::began>(
                                                  *this, static_cast<std::uint64_t>(rank.value())));
}

void VcclHostFunctions::began(std::uint64_t rank) { threads_[rank].waiting.front()->release(); }

void VcclHostFunctions::after(Rank rank, GpuStream& stream) {
  Thread& thread = threads_[rank.index()];
  HOCCL_CHECK(!thread.waiting.empty() && thread.waiting.front() == &stream,
              "rank {}: a stream ends a host function that is not its own", rank);
  const Seconds end = std::max(constants_.host_function_end - gate_.resume_latency, Seconds(0.0));
  clock_.after(end, Callback::to<&VcclHostFunctions::ended>(
                        *this, static_cast<std::uint64_t>(rank.value())));
}

void VcclHostFunctions::ended(std::uint64_t rank) {
  Thread& thread = threads_[rank];
  GpuStream* stream = thread.waiting.front();
  thread.waiting.pop_front();
  if (!thread.waiting.empty()) begin_front(Rank(static_cast<int>(rank)));
  stream->release();
}

}  // namespace hoccl::sim
