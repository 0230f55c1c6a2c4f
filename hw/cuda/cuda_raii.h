#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>
#include <utility>

namespace hoccl::hw {

/// Throws CudaError when `result` is an error: "<what>: cudaErrorMemoryAllocation: out of memory".
void require_cuda(cudaError_t result, const char* what);

/// A stream that does not synchronise with the legacy default stream.
class CudaStream {
 public:
  /// kHighest is meant to keep a stream out of the queues of the application's streams; whether the
  /// driver does so was not measured.
  enum class Priority : bool { kNormal, kHighest };
  explicit CudaStream(Priority priority = Priority::kNormal);
  ~CudaStream();
  CudaStream(CudaStream&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
  CudaStream& operator=(CudaStream&& other) noexcept {
    std::swap(stream_, other.stream_);
    return *this;
  }
  [[nodiscard]] cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

class CudaEvent {
 public:
  /// Without a time an event costs less.
  enum class Timing : bool { kOff, kOn };
  explicit CudaEvent(Timing timing = Timing::kOff);
  ~CudaEvent();
  CudaEvent(CudaEvent&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  CudaEvent& operator=(CudaEvent&& other) noexcept {
    std::swap(event_, other.event_);
    return *this;
  }
  [[nodiscard]] cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

/// Memory of the current device, zeroed.
class DeviceMemory {
 public:
  explicit DeviceMemory(std::size_t size);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_;
};

/// Page-locked memory of the host that the device reads and writes at the same address, zeroed.
class PinnedMemory {
 public:
  explicit PinnedMemory(std::size_t size);
  ~PinnedMemory();
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;
  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_;
};

}  // namespace hoccl::hw
