#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "hw/device/dma_buf.h"
#include "hw/verbs/nic.h"
#include "hw/verbs/rc_queue_pair.h"
#include "hw/verbs/verbs_raii.h"

namespace hoccl::hw {

/// How a NIC was given access to memory.
enum class RegistrationPath : std::uint8_t {
  kHost,     ///< ibv_reg_mr of the host's memory
  kDmaBuf,   ///< ibv_reg_dmabuf_mr of what the GPU's driver exports
  kPeerMem,  ///< ibv_reg_mr of the GPU's memory, by the module nvidia-peermem
};
std::string_view to_string(RegistrationPath path);

/// Who may write into registered memory from elsewhere. All of it can be read by its own NIC.
enum class RemoteAccess : std::uint8_t { kNone, kWrite };

/// One piece of memory, registered with every NIC of this rank.
class RegisteredMemory {
 public:
  RegisteredMemory() = default;
  /// Throws VerbsError, for a GPU's memory when neither way worked. `relaxed`: writes may pass each
  /// other on PCIe; that they have arrived is told by an immediate, which comes after them.
  RegisteredMemory(std::span<const std::unique_ptr<Nic>> nics, std::span<std::byte> memory,
                   RemoteAccess access, bool relaxed, const DmaBufExport& export_gpu = {});

  [[nodiscard]] std::span<std::byte> memory() const { return memory_; }
  [[nodiscard]] RegistrationPath path() const { return path_; }
  /// `data` lies within.
  [[nodiscard]] WireAddress local(std::size_t nic, const std::byte* data) const {
    return {reinterpret_cast<std::uint64_t>(data), regions_[nic]->lkey};
  }
  [[nodiscard]] std::uint64_t address() const {
    return reinterpret_cast<std::uint64_t>(memory_.data());
  }
  /// What peers need to write into it over that NIC.
  [[nodiscard]] std::uint32_t remote_key(std::size_t nic) const { return regions_[nic]->rkey; }

 private:
  std::span<std::byte> memory_;
  RegistrationPath path_ = RegistrationPath::kHost;
  std::vector<MemoryRegionHandle> regions_;  ///< by NIC
};

}  // namespace hoccl::hw
