#pragma once

#include <cstddef>
#include <cstdint>

namespace hoccl::hw {

/// Memory of the first GPU by CUDA's virtual memory interface, as PyTorch's expandable segments
/// are: CUDA IPC cannot hand it on.
class VmmMemory {
 public:
  /// Throws CudaError.
  explicit VmmMemory(std::size_t size);
  ~VmmMemory();
  VmmMemory(const VmmMemory&) = delete;
  VmmMemory& operator=(const VmmMemory&) = delete;
  [[nodiscard]] std::byte* data() const { return reinterpret_cast<std::byte*>(address_); }

 private:
  std::size_t size_ = 0;
  std::uint64_t address_ = 0;
  std::uint64_t handle_ = 0;
};

}  // namespace hoccl::hw
