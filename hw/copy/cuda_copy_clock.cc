#include "hw/copy/cuda_copy_clock.h"

#include "hw/system/monotonic_clock.h"

namespace hoccl::hw {

using engine::Seconds;

void CudaCopyClock::set_origin() {
  Origin& origin = origin_.emplace();
  const Seconds before = monotonic_now();
  require_cuda(cudaEventRecord(origin.event.get(), origin.stream.get()), "record an event");
  require_cuda(cudaEventSynchronize(origin.event.get()), "wait for an event");
  origin.host = before + (monotonic_now() - before) / 2;
}

auto CudaCopyClock::begin(cudaStream_t stream) -> Begin {
  if (!origin_) set_origin();
  Begin begin{CudaEvent(CudaEvent::Timing::kOn)};
  require_cuda(cudaEventRecord(begin.event.get(), stream), "record an event");
  return begin;
}

auto CudaCopyClock::interval(const Begin& begin, const CudaEvent& end) const -> Interval {
  const auto since_origin = [&](const CudaEvent& event) {
    float milliseconds = 0.0F;
    require_cuda(cudaEventElapsedTime(&milliseconds, origin_->event.get(), event.get()),
                 "read the time of an event");
    return origin_->host + Seconds(static_cast<double>(milliseconds) * 1e-3);
  };
  return {since_origin(begin.event), since_origin(end)};
}

}  // namespace hoccl::hw
