#pragma once

namespace hoccl::hw {

class CudaStream;

/// Launches a kernel that does nothing, named "nothing".
void enqueue_empty_kernel(const CudaStream& stream);

}  // namespace hoccl::hw
