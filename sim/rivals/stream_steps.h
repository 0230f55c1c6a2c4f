#pragma once

#include "engine/base/ids.h"
#include "engine/fabric.h"
#include "sim/machine/gpu_stream.h"

namespace hoccl::sim {

/// What a rival does on the stream around each of its operations. The stream stands still until its
/// release().
class StreamSteps {
 public:
  virtual ~StreamSteps() = default;
  virtual void before(engine::Rank rank, GpuStream& stream) = 0;
  virtual void after(engine::Rank rank, GpuStream& stream) = 0;
};

}  // namespace hoccl::sim
