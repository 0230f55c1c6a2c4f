#pragma once

#include <chrono>
#include <cstddef>

#include "hw/cuda/cuda_raii.h"

namespace hoccl::hw {

/// By cudaMemcpyAsync; the direction follows from the addresses.
void enqueue_copy(std::byte* target, const std::byte* source, std::size_t size,
                  const CudaStream& stream);

/// By one cudaMemcpyBatchAsync: `count` copies of `size`, one behind the other in memory.
void enqueue_batch(std::byte* target, const std::byte* source, std::size_t size, std::size_t count,
                   const CudaStream& stream);

/// As copies in rows: one by cudaMemcpy2DAsync, several by one cudaMemcpy3DBatchAsync.
void enqueue_rows(std::byte* target, const std::byte* source, std::size_t size, std::size_t count,
                  const CudaStream& stream);

void enqueue_memset(std::byte* target, std::size_t size, const CudaStream& stream);

void synchronize(const CudaStream& stream);
void synchronize_device();

/// Whether all that was enqueued so far ends in time. Only asks and sleeps: nothing is enqueued but
/// an event.
bool ends_within(const CudaStream& stream, std::chrono::milliseconds limit);

}  // namespace hoccl::hw
