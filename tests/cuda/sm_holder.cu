#include <cuda_runtime.h>

#include <cstdint>
#include <string>
#include <thread>

#include "hw/cuda/cuda_error.h"
#include "hw/cuda/cuda_raii.h"
#include "hw/cuda/driver_raii.h"
#include "tests/cuda/sm_holder.h"

namespace hoccl::hw {
namespace {

// Together all 2048 threads that an SM has: not even a small kernel of the driver fits beside them.
constexpr int kThreads = 1024;
constexpr int kBlocksPerSm = 2;

__device__ std::uint64_t time_ns() {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  return now;
}

/// `released` lies in the GPU's memory, `arrived` (a word per block) in the host's: polling the
/// host's memory would choke PCIe, which the copies under test need.
__global__ void __launch_bounds__(kThreads, kBlocksPerSm)
    hold_sm(const volatile std::uint32_t* released, volatile std::uint32_t* arrived,
            std::uint64_t limit_ns) {
  if (threadIdx.x == 0) {
    arrived[blockIdx.x] = 1;
    __threadfence_system();
    const std::uint64_t begin = time_ns();
    while (*released == 0 && time_ns() - begin < limit_ns) __nanosleep(2000);
  }
  __syncthreads();  // the others wait here without polling
}

__global__ void mark(volatile std::uint32_t* word) {
  *word = 1;
  __threadfence_system();
}

int block_count() {
  int device = 0;
  int multiprocessors = 0;
  int fit = 0;
  require_cuda(cudaGetDevice(&device), "ask for the GPU");
  require_cuda(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device),
               "count the SMs");
  require_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fit, hold_sm, kThreads, 0),
               "ask how many blocks fit");
  if (fit != kBlocksPerSm) {
    throw CudaError(std::to_string(fit) +
                    " blocks of 1024 threads fit on an SM instead of 2: the "
                    "holder is written for GPUs with 2048 threads per SM");
  }
  return kBlocksPerSm * multiprocessors;
}

}  // namespace

struct SmHolder::State {
  explicit State(int count)
      : blocks(count), arrived(static_cast<std::size_t>(count) * sizeof(std::uint32_t)) {}

  int blocks;
  PinnedMemory arrived;
  PinnedMemory intruded{sizeof(std::uint32_t)};
  DeviceMemory released{sizeof(std::uint32_t)};
  CudaStream holding;
  CudaStream intruding;
  CudaStream releasing;
  bool is_released = false;

  static volatile std::uint32_t* word(std::byte* memory) {
    return reinterpret_cast<volatile std::uint32_t*>(memory);
  }

  int arrived_count() const {
    int count = 0;
    for (int i = 0; i < blocks; ++i) count += word(arrived.data())[i] != 0 ? 1 : 0;
    return count;
  }

  void launch(std::uint64_t limit_ns) {
    // Loads the kernel: later it could not be.
    mark<<<1, 1, 0, intruding.get()>>>(word(intruded.data()));
    require_cuda(cudaGetLastError(), "launch a kernel");
    require_cuda(cudaStreamSynchronize(intruding.get()), "run a kernel");
    *word(intruded.data()) = 0;
    // The zeroes of `released` are written on the default stream, which no stream here waits for.
    require_cuda(cudaStreamSynchronize(cudaStreamLegacy), "wait for the default stream");
    hold_sm<<<blocks, kThreads, 0, holding.get()>>>(word(released.data()), word(arrived.data()),
                                                    limit_ns);
    require_cuda(cudaGetLastError(), "launch the kernel that holds the SMs");
  }

  void wait_for_all() const {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    while (arrived_count() < blocks) {
      if (std::chrono::steady_clock::now() > deadline) {
        throw CudaError("only " + std::to_string(arrived_count()) + " of " +
                        std::to_string(blocks) + " blocks that hold the SMs have started");
      }
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }

  void intrude() {
    mark<<<1, 1, 0, intruding.get()>>>(word(intruded.data()));
    require_cuda(cudaGetLastError(), "launch the kernel that must wait");
    // A kernel starts within 10 us.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (*word(intruded.data()) != 0) throw CudaError("a kernel ran although all SMs are held");
  }
};

SmHolder::SmHolder(std::chrono::milliseconds limit)
    : state_(std::make_unique<State>(block_count())) {
  state_->launch(static_cast<std::uint64_t>(std::chrono::nanoseconds(limit).count()));
  try {
    state_->wait_for_all();
    state_->intrude();
  } catch (...) {
    try {
      release();
    } catch (const CudaError&) {  // the first error says more
    }
    throw;
  }
}

SmHolder::~SmHolder() {
  try {
    release();
  } catch (const CudaError&) {  // whoever used the GPU sees it again
  }
}

bool SmHolder::holds_all() const {
  return !state_->is_released && state_->arrived_count() == state_->blocks &&
         *State::word(state_->intruded.data()) == 0 &&
         cudaStreamQuery(state_->holding.get()) == cudaErrorNotReady;
}

void SmHolder::release() {
  if (state_->is_released) return;
  state_->is_released = true;
  // A write by the front end: a copy of a few bytes may need the compute queue.
  require_driver(
      CudaDriver::get().stream_write_value_32(
          state_->releasing.get(), reinterpret_cast<CUdeviceptr>(state_->released.data()), 1, 0),
      "release the SMs");
  require_cuda(cudaStreamSynchronize(state_->releasing.get()), "release the SMs");
  require_cuda(cudaStreamSynchronize(state_->holding.get()), "wait for the SMs");
  require_cuda(cudaStreamSynchronize(state_->intruding.get()), "wait for the kernel that waited");
}

}  // namespace hoccl::hw
