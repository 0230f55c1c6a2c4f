#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace hoccl::hw {

/// Where a GPU sits.
struct NvidiaGpu {
  std::string pci_path;  ///< as RdmaDevice::pci_path
  int numa_node = -1;    ///< -1: unknown
};

/// The NVIDIA GPUs that the PCI bus of this host has, by address; starts no driver. CUDA numbers
/// them so only with CUDA_DEVICE_ORDER=PCI_BUS_ID, and may have been told to leave some out.
std::vector<NvidiaGpu> read_nvidia_gpus(const std::filesystem::path& sys = "/sys");

/// The path of a device of the bus, as RdmaDevice::pci_path; `bus_id` as "0000:1b:00.0", in letters
/// of either case. Empty: there is none.
std::string pci_path_at(const std::string& bus_id, const std::filesystem::path& sys = "/sys");

}  // namespace hoccl::hw
