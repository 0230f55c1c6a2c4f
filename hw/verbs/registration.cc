#include "hw/verbs/registration.h"

#include <fmt/format.h>

#include <cerrno>

#include "hw/verbs/verbs_error.h"

namespace hoccl::hw {
namespace {

int flags_for(RemoteAccess access, bool relaxed) {
  int flags = IBV_ACCESS_LOCAL_WRITE;
  if (access == RemoteAccess::kWrite) flags |= IBV_ACCESS_REMOTE_WRITE;
  // A device that does not know the flag ignores it: it is one of the optional ones.
  if (relaxed) flags |= IBV_ACCESS_RELAXED_ORDERING;
  return flags;
}

std::string what(const Nic& nic, std::size_t size, std::string_view of) {
  return fmt::format("register {} KiB of {} memory with {}", (size + 1023) >> 10, of, nic.name());
}

}  // namespace

std::string_view to_string(RegistrationPath path) {
  switch (path) {
    case RegistrationPath::kHost:
      return "host memory";
    case RegistrationPath::kDmaBuf:
      return "GPU memory by dma-buf";
    case RegistrationPath::kPeerMem:
      return "GPU memory by nvidia-peermem";
  }
  return "?";
}

RegisteredMemory::RegisteredMemory(std::span<const std::unique_ptr<Nic>> nics,
                                   std::span<std::byte> memory, RemoteAccess access, bool relaxed,
                                   const DmaBufExport& export_gpu)
    : memory_(memory) {
  const int flags = flags_for(access, relaxed);
  FileDescriptor dma_buf;
  if (export_gpu) dma_buf = export_gpu(memory);
  path_ = !export_gpu ? RegistrationPath::kHost
          : dma_buf   ? RegistrationPath::kDmaBuf
                      : RegistrationPath::kPeerMem;
  for (const std::unique_ptr<Nic>& nic : nics) {
    ibv_mr* region = nullptr;
    if (path_ == RegistrationPath::kDmaBuf) {
      region =
          ::ibv_reg_dmabuf_mr(nic->domain(), 0, memory.size(),
                              reinterpret_cast<std::uint64_t>(memory.data()), dma_buf.get(), flags);
      // A NIC's driver may lack it where the module for the other way is loaded.
      if (region == nullptr && regions_.empty()) path_ = RegistrationPath::kPeerMem;
    }
    if (region == nullptr && path_ != RegistrationPath::kDmaBuf) {
      region = ::ibv_reg_mr(nic->domain(), memory.data(), memory.size(), flags);
    }
    if (region == nullptr) {
      throw VerbsError(what(*nic, memory.size(), export_gpu ? "the GPU's" : "the host's"), errno);
    }
    regions_.emplace_back(region);
  }
}

}  // namespace hoccl::hw
