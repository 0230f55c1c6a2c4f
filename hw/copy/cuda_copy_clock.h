#pragma once

#include <optional>

#include "engine/base/units.h"
#include "hw/cuda/cuda_raii.h"

namespace hoccl::hw {

/// When copies ran on the GPU, in the host's time: for traces. An event's GPU time is put beside
/// the host's once, so times of one engine are exact to an event's 0.5 us against each other, and
/// good to some microseconds against the host's.
class CudaCopyClock {
 public:
  /// When the stream got to the copies.
  struct Begin {
    CudaEvent event;
  };
  struct Interval {
    engine::Seconds begin;
    engine::Seconds end;
  };

  /// Before the copies; for their end an event with timing is recorded behind them.
  Begin begin(cudaStream_t stream);
  /// Both have happened.
  Interval interval(const Begin& begin, const CudaEvent& end) const;

 private:
  void set_origin();

  struct Origin {
    CudaStream stream;
    CudaEvent event{CudaEvent::Timing::kOn};
    engine::Seconds host;
  };
  std::optional<Origin> origin_;
};

}  // namespace hoccl::hw
