#include "hw/doctor/registration_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "hw/nic/sysfs.h"

namespace hoccl::hw {
namespace {

/// `release` as "5.15.0-91-generic".
bool is_kernel_at_least(const std::string& release, int major, int minor) {
  std::istringstream text(release);
  int found_major = 0;
  int found_minor = 0;
  char dot = 0;
  text >> found_major >> dot >> found_minor;
  return std::pair(found_major, found_minor) >= std::pair(major, minor);
}

/// None when it should work; only registering some memory proves it.
std::optional<std::string> why_no_dma_buf(const RdmaHost& host) {
  const std::filesystem::path module = host.sys / "module" / "nvidia";
  if (!std::filesystem::exists(module)) return "NVIDIA's kernel module is not loaded";
  if (!is_kernel_at_least(host.kernel_release, 5, 12)) {
    return fmt::format("Linux {} is older than 5.12", host.kernel_release);
  }
  // The open modules export memory as dma-bufs, the others do not. P: of a proprietary licence.
  const std::optional<std::string> taint = read_line(module / "taint");
  if (!taint || taint->find('P') != std::string::npos) {
    return "NVIDIA's kernel modules are not the open ones";
  }
  return std::nullopt;
}

bool is_software(const RdmaDevice& device) { return device.pci_path.empty(); }

}  // namespace

Check check_registration(const RdmaHost& host, const std::vector<RdmaDevice>& devices,
                         bool has_gpus) {
  if (!has_gpus) return {"registration", Finding::kOk, "host memory (no NVIDIA GPU)", ""};
  if (std::ranges::all_of(devices, is_software)) {
    return {"registration", Finding::kInfo, "host memory only: no RDMA device is on PCIe",
            "GPU memory needs a NIC of hardware"};
  }
  const std::optional<std::string> no_dma_buf = why_no_dma_buf(host);
  const bool has_peermem = std::filesystem::exists(host.sys / "module" / "nvidia_peermem");
  if (no_dma_buf && !has_peermem) {
    return {
        "registration", Finding::kWarning,
        fmt::format("host memory only: no dma-buf ({}), nvidia_peermem is not loaded", *no_dma_buf),
        "for GPU memory modprobe nvidia-peermem, or Linux 5.12 with NVIDIA's open modules"};
  }
  std::vector<std::string> ways;
  if (!no_dma_buf) ways.emplace_back("dma-buf");
  if (has_peermem) ways.emplace_back("nvidia-peermem");
  return {"registration", Finding::kOk,
          fmt::format("host memory; GPU memory by {}", fmt::join(ways, " or ")), ""};
}

}  // namespace hoccl::hw
