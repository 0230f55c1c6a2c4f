#pragma once

#include "engine/base/units.h"
#include "engine/fabric.h"

namespace hoccl::hw {

/// The smallest copy from the host's memory to the GPU that has to run on a copy engine. Below, the
/// driver may move the bytes on its compute channel: measured on an H200 (driver 580.159.04, CUDA
/// 13.0), out of slots (memory registered with cudaHostRegister) up to 16 KiB, while 32 KiB ran on
/// an engine; out of memory of cudaHostAlloc up to 1 KiB. tests/cuda prints what the machine at
/// hand does.
inline constexpr engine::Bytes kSmallestDmaCopy{std::int64_t{32} << 10};

/// Whether the driver gives a copy between two places to a copy engine.
constexpr bool runs_on_copy_engine(engine::CopyClass copy_class, engine::Bytes size) {
  return copy_class != engine::CopyClass::kHostToDevice || size >= kSmallestDmaCopy;
}

}  // namespace hoccl::hw
