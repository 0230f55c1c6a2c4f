#include "experiments/contention/sm_copy_load.h"

#include <cuda_runtime_api.h>

#include <chrono>
#include <cstdint>
#include <thread>

#include "experiments/contention/kernels.h"
#include "experiments/contention/load_memory_raii.h"
#include "hw/cuda/cuda_error.h"
#include "hw/cuda/driver_raii.h"

namespace hoccl::contention {
namespace {

using engine::Bytes;
using hw::CudaError;
using hw::require_cuda;

// A product whose last blocks never get an SM would wait for ever: 60 ms of products fit well.
constexpr std::uint64_t kLimitNs = 1'000'000'000;

class SmCopyLoad : public Load {
 public:
  SmCopyLoad(const SmCopyLoadOptions& options, const LoadMemory& memory)
      : blocks_(static_cast<std::size_t>(options.multiprocessors)),
        stop_(sizeof(std::uint32_t)),
        arrived_(blocks_ * sizeof(std::uint32_t)),
        copied_(blocks_ * sizeof(unsigned long long)),
        copy_{.source = memory.device_source.data(),
              .target = memory.device_target.data(),
              .region_bytes = memory.device_source.size(),
              .bytes_per_ns = options.rate.value() / 1e9 / options.multiprocessors,
              .stop = reinterpret_cast<std::uint32_t*>(stop_.data()),
              .arrived = reinterpret_cast<std::uint32_t*>(arrived_.data()),
              .copied_bytes = reinterpret_cast<unsigned long long*>(copied_.data()),
              .limit_ns = kLimitNs} {
    require_cuda(cudaDeviceSynchronize(), "zero the words of the kernel that copies");
  }

  ~SmCopyLoad() override {
    if (running_) cudaStreamSynchronize(stream_.get());  // ends by its limit
  }

  void start() override {
    enqueue_sm_copy(copy_, static_cast<int>(blocks_), stream_);
    running_ = true;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
    while (arrived() < blocks_) {
      if (std::chrono::steady_clock::now() > deadline) {
        throw CudaError("the kernel that copies has not got its SMs");
      }
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }

  [[nodiscard]] Moved moved() const override {
    const auto* words = reinterpret_cast<const volatile unsigned long long*>(copied_.data());
    unsigned long long bytes = 0;
    for (std::size_t i = 0; i < blocks_; ++i) bytes += words[i];
    return {.to_host = {}, .to_device = {}, .by_sms = Bytes(static_cast<std::int64_t>(bytes))};
  }

  void stop() override {
    hw::require_driver(hw::CudaDriver::get().stream_write_value_32(
                           stopping_.get(), reinterpret_cast<CUdeviceptr>(stop_.data()), 1, 0),
                       "stop the kernel that copies");
    require_cuda(cudaStreamSynchronize(stopping_.get()), "stop the kernel that copies");
    require_cuda(cudaStreamSynchronize(stream_.get()), "run the kernel that copies");
    running_ = false;
  }

 private:
  [[nodiscard]] std::size_t arrived() const {
    const auto* words = reinterpret_cast<const volatile std::uint32_t*>(arrived_.data());
    std::size_t count = 0;
    for (std::size_t i = 0; i < blocks_; ++i) count += words[i] != 0 ? 1 : 0;
    return count;
  }

  std::size_t blocks_;
  hw::DeviceMemory stop_;
  hw::PinnedMemory arrived_;
  hw::PinnedMemory copied_;
  SmCopy copy_;
  hw::CudaStream stream_;
  hw::CudaStream stopping_;
  bool running_ = false;
};

}  // namespace

std::unique_ptr<Load> sm_copy_load(const SmCopyLoadOptions& options, const LoadMemory& memory) {
  return std::make_unique<SmCopyLoad>(options, memory);
}

}  // namespace hoccl::contention
