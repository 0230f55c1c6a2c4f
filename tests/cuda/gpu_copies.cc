#include "tests/cuda/gpu_copies.h"

#include <cuda_runtime_api.h>

#include <thread>

#include "hw/cuda/copy_batch_raii.h"
#include "hw/cuda/row_copies_raii.h"

namespace hoccl::hw {

void enqueue_copy(std::byte* target, const std::byte* source, std::size_t size,
                  const CudaStream& stream) {
  require_cuda(cudaMemcpyAsync(target, source, size, cudaMemcpyDefault, stream.get()), "copy");
}

void enqueue_batch(std::byte* target, const std::byte* source, std::size_t size, std::size_t count,
                   const CudaStream& stream) {
  CopyBatch batch;
  for (std::size_t i = 0; i < count; ++i) batch.add(target + i * size, source + i * size, size);
  batch.post(stream.get());
}

void enqueue_rows(std::byte* target, const std::byte* source, std::size_t size, std::size_t count,
                  const CudaStream& stream) {
  if (count == 1) {
    copy_in_rows(target, source, size, stream.get());
    return;
  }
  RowCopies rows;
  for (std::size_t i = 0; i < count; ++i) rows.add(target + i * size, source + i * size, size);
  rows.post(stream.get());
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
