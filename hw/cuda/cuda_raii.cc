#include "hw/cuda/cuda_raii.h"

#include <fmt/format.h>

#include <cstring>

#include "hw/cuda/cuda_error.h"

namespace hoccl::hw {

// Destructors do not look at results: what they free may be gone with a broken context already, and
// whoever used it has seen the error.

void require_cuda(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return;
  throw CudaError(
      fmt::format("{}: {}: {}", what, cudaGetErrorName(result), cudaGetErrorString(result)));
}

CudaStream::CudaStream(Priority priority) {
  int lowest = 0;
  int highest = 0;
  if (priority == Priority::kHighest) {
    require_cuda(cudaDeviceGetStreamPriorityRange(&lowest, &highest), "ask for priorities");
  }
  require_cuda(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, highest),
               "create a stream");
}

CudaStream::~CudaStream() {
  if (stream_ != nullptr) cudaStreamDestroy(stream_);
}

CudaEvent::CudaEvent(Timing timing) {
  const unsigned flags = timing == Timing::kOn ? cudaEventDefault : cudaEventDisableTiming;
  require_cuda(cudaEventCreateWithFlags(&event_, flags), "create an event");
}

CudaEvent::~CudaEvent() {
  if (event_ != nullptr) cudaEventDestroy(event_);
}

DeviceMemory::DeviceMemory(std::size_t size) : size_(size) {
  void* memory = nullptr;
  require_cuda(cudaMalloc(&memory, size), "allocate memory of the GPU");
  data_ = static_cast<std::byte*>(memory);
  // On a stream of its own: nothing else is waited for, and what comes later finds zeros.
  const CudaStream stream;
  require_cuda(cudaMemsetAsync(memory, 0, size, stream.get()), "zero memory of the GPU");
  require_cuda(cudaStreamSynchronize(stream.get()), "zero memory of the GPU");
}

DeviceMemory::~DeviceMemory() { cudaFree(data_); }

PinnedMemory::PinnedMemory(std::size_t size) : size_(size) {
  void* memory = nullptr;
  require_cuda(cudaHostAlloc(&memory, size, cudaHostAllocPortable | cudaHostAllocMapped),
               "allocate page-locked memory");
  data_ = static_cast<std::byte*>(memory);
  std::memset(memory, 0, size);
}

PinnedMemory::~PinnedMemory() { cudaFreeHost(data_); }

}  // namespace hoccl::hw
