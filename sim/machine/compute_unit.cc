#include "sim/machine/compute_unit.h"

#include <algorithm>
#include <utility>

#include "engine/base/check.h"

namespace hoccl::sim {

using engine::Bytes;
using engine::Seconds;

ComputeUnit::ComputeUnit(Clock& clock, const SmPool& pool, engine::GpuId gpu,
                         const SmContention& contention, std::function<Bytes()> memory_traffic)
    : clock_(clock),
      pool_(pool),
      gpu_(gpu),
      contention_(contention),
      memory_traffic_(std::move(memory_traffic)) {}

void ComputeUnit::start(const ComputeKernel& kernel, Callback done) {
  HOCCL_CHECK(!busy_, "GPU {}: two compute kernels at once", gpu_);
  settle();
  busy_ = true;
  kernel_ = kernel;
  done_ = done;
  left_ = kernel.alone;
  traffic_ = memory_traffic_();
  account_.phases[static_cast<std::size_t>(kernel.phase)].alone += kernel.alone;
  plan_end();
}

void ComputeUnit::after_change() {
  if (!busy_ || present_rate() == rate_) return;
  clock_.cancel(end_);
  plan_end();
}

double ComputeUnit::present_rate() const {
  return contention_.rate(kernel_.phase, kernel_.tiles, pool_.held(gpu_));
}

const ComputeAccount& ComputeUnit::account() {
  settle();
  return account_;
}

void ComputeUnit::settle() {
  const Seconds elapsed = clock_.now() - settled_;
  settled_ = clock_.now();
  auto& phase = account_.phases[static_cast<std::size_t>(kernel_.phase)];
  for (const TrafficClass traffic : kTrafficClasses) {
    const auto index = static_cast<std::size_t>(traffic);
    const double held = pool_.held(gpu_, traffic) * elapsed.count();
    account_.held_ever[index] += held;
    if (busy_) phase.held[index] += held;
  }
  if (!busy_) return;
  phase.active += elapsed;
  left_ -= elapsed * rate_;
}

void ComputeUnit::plan_end() {
  rate_ = present_rate();
  const Seconds left = std::max(left_, Seconds(0.0)) / rate_;
  end_ = clock_.after(left, Callback::to<&ComputeUnit::end_reached>(*this));
}

void ComputeUnit::end_reached() {
  settle();
  // Traffic is looked at when the kernel would end, not at each of thousands of chunks: a byte
  // costs the same at any time within the kernel. What comes in the time added is looked at again.
  const Bytes traffic = memory_traffic_();
  const Seconds delay = contention_.delay(traffic - traffic_);
  traffic_ = traffic;
  if (delay > Seconds(0.0)) {
    left_ += delay;
    plan_end();
    return;
  }
  busy_ = false;
  done_();
}

}  // namespace hoccl::sim
