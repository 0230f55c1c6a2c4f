#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <vector>

namespace hoccl::hw {

// Small copies that a copy engine must do: each is cut into two rows, one behind the other, because
// the driver moves small plain copies on its compute channel, but not rows (copy/copy_channel.h).

/// One, of 2 bytes or more, handed to a stream by cudaMemcpy2DAsync. Throws CudaError.
void copy_in_rows(void* target, const void* source, std::size_t size, cudaStream_t stream);

/// Several that are handed to a stream by one cudaMemcpy3DBatchAsync. Their order among each other
/// is undefined.
class RowCopies {
 public:
  void clear() { copies_.clear(); }
  [[nodiscard]] bool empty() const { return copies_.empty(); }
  /// Of 2 bytes or more.
  void add(void* target, const void* source, std::size_t size);
  /// Not empty; they can be posted again. Throws CudaError.
  void post(cudaStream_t stream);

 private:
  std::vector<cudaMemcpy3DBatchOp> copies_;
};

}  // namespace hoccl::hw
