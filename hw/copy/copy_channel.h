#pragma once

#include "engine/base/units.h"
#include "engine/fabric.h"

namespace hoccl::hw {

/// The smallest copy from the host's memory to the GPU that runs on a copy engine as a plain one
/// (cudaMemcpyAsync, alone or in a batch). Below, the driver may move the bytes on its compute
/// channel: measured on an H200 (driver 580.159.04, CUDA 13.0), out of slots (memory registered
/// with cudaHostRegister) up to 16 KiB, while 32 KiB ran on an engine; out of memory of
/// cudaHostAlloc up to 1 KiB. tests/cuda prints what the machine at hand does.
inline constexpr engine::Bytes kSmallestPlainDmaCopy{std::int64_t{32} << 10};

/// The smallest one that runs on a copy engine at all: copied as rows (cuda/row_copies), which the
/// compute channel does not do (same machine: from 2 rows of 1 byte on). A byte has no two rows.
inline constexpr engine::Bytes kSmallestDmaCopy{2};

/// Whether a copy has to be made in rows to run on a copy engine.
constexpr bool needs_rows(engine::CopyClass copy_class, engine::Bytes size) {
  return copy_class == engine::CopyClass::kHostToDevice && size >= kSmallestDmaCopy &&
         size < kSmallestPlainDmaCopy;
}

/// Whether the driver gives a copy, made in rows where it needs them, to a copy engine.
constexpr bool runs_on_copy_engine(engine::CopyClass copy_class, engine::Bytes size) {
  return copy_class != engine::CopyClass::kHostToDevice || size >= kSmallestDmaCopy;
}

}  // namespace hoccl::hw
