#pragma once

#include <cstddef>
#include <cstdint>

namespace hoccl::hw {
class CudaStream;
}

// Plain C++17 for nvcc (CMake 3.25 cannot ask it for C++20), so plain numbers with their unit.
namespace hoccl::contention {

/// A copy by SMs, as a communication library's kernel makes it: each block holds one SM to itself.
struct SmCopy {
  const std::byte* source = nullptr;
  std::byte* target = nullptr;
  std::size_t region_bytes = 0;                ///< copied over and over
  double bytes_per_ns = 0;                     ///< that one block does not exceed
  const std::uint32_t* stop = nullptr;         ///< in the GPU's memory; not 0: the blocks end
  std::uint32_t* arrived = nullptr;            ///< a word per block, in the host's memory
  unsigned long long* copied_bytes = nullptr;  ///< a count per block, in the host's memory
  std::uint64_t limit_ns = 0;                  ///< after which the blocks end in any case
};
void enqueue_sm_copy(const SmCopy& copy, int blocks, const hw::CudaStream& stream);

/// What clock_mhz() is computed from.
struct ClockReading {
  std::uint64_t cycles = 0;
  std::uint64_t duration_ns = 0;
};
/// Counts the SM's cycles for a while; `reading` lies in the host's memory.
void enqueue_clock_probe(ClockReading* reading, std::uint64_t duration_ns,
                         const hw::CudaStream& stream);

/// bf16 numbers, uniform in [-1, 1): what the data is decides how much power a product takes.
void enqueue_random_fill(void* matrix, std::size_t count, std::uint32_t seed,
                         const hw::CudaStream& stream);

}  // namespace hoccl::contention
