#pragma once

#include "engine/base/units.h"
#include "engine/fabric.h"

namespace hoccl::hw {

/// The smallest copy from the host's memory to the GPU that has to run on a copy engine. Below, the
/// driver may send the bytes along with the command, on the compute channel: measured on an H200
/// (driver 580.159) with 4 KiB; CUDA's documents give 64 KiB as the size up to which it does so.
/// tests/cuda prints what the machine at hand does.
inline constexpr engine::Bytes kSmallestDmaCopy{std::int64_t{64} << 10};

/// Whether the driver gives a copy between two places to a copy engine.
constexpr bool runs_on_copy_engine(engine::CopyClass copy_class, engine::Bytes size) {
  return copy_class != engine::CopyClass::kHostToDevice || size >= kSmallestDmaCopy;
}

}  // namespace hoccl::hw
