#pragma once

#include <cuda_runtime_api.h>

#include "engine/base/units.h"
#include "engine/fabric.h"

namespace hoccl::hw {

/// Hands one copy to a stream, in rows where it needs them to run on a copy engine
/// (copy_channel.h). Throws CudaError.
void post_copy(engine::CopyClass copy_class, void* target, const void* source, engine::Bytes size,
               cudaStream_t stream);

}  // namespace hoccl::hw
