#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include "experiments/contention/kernels.h"
#include "hw/cuda/cuda_raii.h"

namespace hoccl::contention {
namespace {

using hw::require_cuda;

constexpr int kThreads = 1024;
constexpr int kVectorsPerThread = 8;  // of 16 bytes, in flight together
constexpr std::size_t kPieceBytes = std::size_t{kThreads} * kVectorsPerThread * sizeof(uint4);
// More than half of an SM's 228 KiB, so that no block of a matrix product (about 200 KiB) fits
// beside.
constexpr int kHeldSharedMemory = 200 * 1024;

__device__ std::uint64_t time_ns() {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  return now;
}

__device__ void copy_piece(const SmCopy& copy, std::size_t piece) {
  const std::size_t pieces = copy.region_bytes / kPieceBytes;
  const std::size_t first = piece % pieces * kPieceBytes / sizeof(uint4) + threadIdx.x;
  const uint4* source = reinterpret_cast<const uint4*>(copy.source) + first;
  uint4* target = reinterpret_cast<uint4*>(copy.target) + first;
  uint4 values[kVectorsPerThread];
#pragma unroll
  for (int i = 0; i < kVectorsPerThread; ++i) values[i] = source[i * kThreads];
#pragma unroll
  for (int i = 0; i < kVectorsPerThread; ++i) target[i * kThreads] = values[i];
}

__global__ void __launch_bounds__(kThreads, 1) sm_copy(SmCopy copy) {
  __shared__ bool ends;
  constexpr int kPiecesPerReport = 8;  // a write to the host per MiB
  const std::uint64_t begin = time_ns();
  if (threadIdx.x == 0) {
    reinterpret_cast<volatile std::uint32_t*>(copy.arrived)[blockIdx.x] = 1;
    __threadfence_system();
  }
  std::uint64_t copied = 0;
  for (std::size_t piece = 0;; ++piece) {
    if (threadIdx.x == 0) {
      const auto* stop = reinterpret_cast<const volatile std::uint32_t*>(copy.stop);
      while (true) {
        const std::uint64_t elapsed_ns = time_ns() - begin;
        ends = *stop != 0 || elapsed_ns > copy.limit_ns;
        if (ends ||
            static_cast<double>(copied) <= copy.bytes_per_ns * static_cast<double>(elapsed_ns)) {
          break;
        }
        __nanosleep(200);
      }
    }
    __syncthreads();
    if (ends) break;
    copy_piece(copy, piece * gridDim.x + blockIdx.x);
    copied += kPieceBytes;
    if (threadIdx.x == 0 && piece % kPiecesPerReport == 0) {
      reinterpret_cast<volatile unsigned long long*>(copy.copied_bytes)[blockIdx.x] = copied;
    }
    __syncthreads();
  }
}

__global__ void probe_clock(ClockReading* reading, std::uint64_t duration_ns) {
  const std::uint64_t begin_ns = time_ns();
  const long long begin = clock64();
  std::uint64_t now_ns = begin_ns;
  while (now_ns - begin_ns < duration_ns) now_ns = time_ns();
  reading->cycles = static_cast<std::uint64_t>(clock64() - begin);
  reading->duration_ns = now_ns - begin_ns;
}

__device__ std::uint32_t mixed(std::uint32_t x) {  // the finaliser of MurmurHash3
  x ^= x >> 16;
  x *= 0x85ebca6bu;
  x ^= x >> 13;
  x *= 0xc2b2ae35u;
  return x ^ (x >> 16);
}

__global__ void fill_random(__nv_bfloat16* matrix, std::size_t count, std::uint32_t seed) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride) {
    const std::uint32_t bits = mixed(static_cast<std::uint32_t>(i) ^ mixed(seed));
    matrix[i] = __float2bfloat16(static_cast<float>(bits) * 0x1p-31f - 1.0f);
  }
}

}  // namespace

void enqueue_sm_copy(const SmCopy& copy, int blocks, const hw::CudaStream& stream) {
  require_cuda(
      cudaFuncSetAttribute(sm_copy, cudaFuncAttributeMaxDynamicSharedMemorySize, kHeldSharedMemory),
      "give a kernel shared memory");
  sm_copy<<<blocks, kThreads, kHeldSharedMemory, stream.get()>>>(copy);
  require_cuda(cudaGetLastError(), "launch the kernel that copies");
}

void enqueue_clock_probe(ClockReading* reading, std::uint64_t duration_ns,
                         const hw::CudaStream& stream) {
  probe_clock<<<1, 1, 0, stream.get()>>>(reading, duration_ns);
  require_cuda(cudaGetLastError(), "launch the kernel that reads the clock");
}

void enqueue_random_fill(void* matrix, std::size_t count, std::uint32_t seed,
                         const hw::CudaStream& stream) {
  fill_random<<<1024, 256, 0, stream.get()>>>(static_cast<__nv_bfloat16*>(matrix), count, seed);
  require_cuda(cudaGetLastError(), "launch the kernel that fills a matrix");
}

}  // namespace hoccl::contention
