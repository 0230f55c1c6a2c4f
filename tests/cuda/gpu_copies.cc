#include "tests/cuda/gpu_copies.h"

#include <cuda_runtime_api.h>

#include <thread>
#include <vector>

namespace hoccl::hw {

void enqueue_copy(std::byte* target, const std::byte* source, std::size_t size,
                  const CudaStream& stream) {
  require_cuda(cudaMemcpyAsync(target, source, size, cudaMemcpyDefault, stream.get()), "copy");
}

void enqueue_batch(std::byte* target, const std::byte* source, std::size_t size, std::size_t count,
                   const CudaStream& stream) {
  std::vector<void*> targets(count);
  std::vector<const void*> sources(count);
  std::vector<std::size_t> sizes(count, size);
  for (std::size_t i = 0; i < count; ++i) {
    targets[i] = target + i * size;
    sources[i] = source + i * size;
  }
  cudaMemcpyAttributes attributes{};
  attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  std::size_t first = 0;  // of the copies with these attributes
  require_cuda(cudaMemcpyBatchAsync(targets.data(), sources.data(), sizes.data(), count,
                                    &attributes, &first, 1, stream.get()),
               "copy a batch");
}

void enqueue_memset(std::byte* target, std::size_t size, const CudaStream& stream) {
  require_cuda(cudaMemsetAsync(target, 0, size, stream.get()), "set memory");
}

void synchronize_device() { require_cuda(cudaDeviceSynchronize(), "wait for the GPU"); }

void synchronize(const CudaStream& stream) {
  require_cuda(cudaStreamSynchronize(stream.get()), "wait for a stream");
}

bool ends_within(const CudaStream& stream, std::chrono::milliseconds limit) {
  const CudaEvent event;
  require_cuda(cudaEventRecord(event.get(), stream.get()), "record an event");
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (true) {
    const cudaError_t state = cudaEventQuery(event.get());
    if (state == cudaSuccess) return true;
    if (state != cudaErrorNotReady) require_cuda(state, "ask for an event");
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

}  // namespace hoccl::hw
