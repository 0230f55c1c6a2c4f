#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <vector>

namespace hoccl::hw {

/// Copies that are handed to a stream by one cudaMemcpyBatchAsync. Their order among each other is
/// undefined.
class CopyBatch {
 public:
  void clear();
  [[nodiscard]] bool empty() const { return targets_.empty(); }
  void add(void* target, const void* source, std::size_t size);
  /// Not empty; it can be posted again. Throws CudaError.
  void post(cudaStream_t stream);

 private:
  std::vector<void*> targets_;
  std::vector<const void*> sources_;
  std::vector<std::size_t> sizes_;
};

}  // namespace hoccl::hw
