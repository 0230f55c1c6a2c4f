#include "sim/rivals/vccl.h"

#include <algorithm>

#include "engine/base/check.h"

namespace hoccl::sim {

using engine::Rank;
using engine::Seconds;

namespace {

// Draws of a share and of a part of a span, in steps that no result can show.
constexpr std::int64_t kSteps = 1'000'000;

double draw(engine::Random& random) {
  return static_cast<double>(random.between(0, kSteps - 1)) / static_cast<double>(kSteps);
}

}  // namespace

VcclHostFunctions::VcclHostFunctions(Clock& clock, int rank_count, const Calibration& calibration,
                                     const RegistrationLoad& load)
    : clock_(clock),
      constants_(calibration.vccl),
      gate_(calibration.gate),
      registration_(calibration.registration),
      load_(load),
      random_(load.seed),
      threads_(static_cast<std::size_t>(rank_count)) {}

Seconds VcclHostFunctions::registration() {
  if (!load_.every_operation) return Seconds(0.0);
  if (draw(random_) >= load_.busy_share) return registration_.latency;
  return registration_.busy_latency + draw(random_) * registration_.busy_spread;
}

void VcclHostFunctions::before(Rank rank, GpuStream& stream) {
  Thread& thread = threads_[rank.index()];
  thread.waiting.push_back(&stream);
  if (thread.waiting.size() == 1) begin_front(rank);
}

void VcclHostFunctions::begin_front(Rank rank) {
  // The gate behind it takes the latency of a memory operation once more.
  const Seconds start =
      std::max(constants_.host_function_start - gate_.ready_latency, Seconds(0.0));
  clock_.after(start + registration(), Callback::to<&VcclHostFunctions::began>(
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
