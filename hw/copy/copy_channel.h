#pragma once

#include "engine/base/units.h"
#include "engine/fabric.h"

namespace hoccl::hw {

/// Below this size the driver moves a copy from the host's memory to the GPU on its compute
/// channel, that is on SMs (reference: H200, driver 580.159, CUDA 13.0: 4 KiB does).
inline constexpr engine::Bytes kSmallestDmaCopy{std::int64_t{64} << 10};

/// Whether the driver gives a copy between two places to a copy engine.
constexpr bool runs_on_copy_engine(engine::CopyClass copy_class, engine::Bytes size) {
  return copy_class != engine::CopyClass::kHostToDevice || size >= kSmallestDmaCopy;
}

}  // namespace hoccl::hw
