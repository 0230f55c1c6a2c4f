#pragma once

#include <memory>
#include <span>

#include "hw/device/memory_block.h"

namespace hoccl::hw {

/// Memory of the current device, zeroed, freed with its block.
std::shared_ptr<MemoryBlock> allocate_cuda_block(engine::Bytes size);
/// The allocation of the application's that the memory lies in, which stays the application's; null
/// when it is no memory of a GPU. Memory that CUDA IPC cannot hand on (VMM, pools, expandable
/// segments) is found, but has no name.
std::shared_ptr<MemoryBlock> find_cuda_block(std::span<const std::byte> memory);
/// Memory of another rank, in this process or another one of this host; null when that fails.
std::shared_ptr<MemoryBlock> attach_cuda_block(const BlockName& name);

/// Page-locks memory of the host for all devices, as long as the result lives. Several ranks of one
/// process may pin the same memory.
std::shared_ptr<const void> pin_for_cuda(std::span<std::byte> memory);

}  // namespace hoccl::hw
