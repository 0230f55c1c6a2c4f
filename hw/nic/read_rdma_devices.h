#pragma once

#include <filesystem>
#include <vector>

#include "hw/nic/rdma_device.h"

namespace hoccl::hw {

/// Every RDMA device of this host, by name, as the kernel shows them in `sys`; also those whose
/// device files this process may not open. Empty where there is none. Needs no library.
std::vector<RdmaDevice> read_rdma_devices(const std::filesystem::path& sys = "/sys");

}  // namespace hoccl::hw
