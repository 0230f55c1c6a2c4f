#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "hw/doctor/checks.h"
#include "hw/doctor/rdma_host.h"
#include "hw/nic/rdma_device.h"

namespace hoccl::hw {

/// The device files through which a process speaks to RDMA devices, as "uverbs0". A container may
/// see the devices in /sys and still have none of them.
std::vector<std::string> verbs_files(const std::filesystem::path& dev);

/// Whether this process may use the devices.
Check check_verbs_files(const RdmaHost& host, const std::vector<RdmaDevice>& devices);

}  // namespace hoccl::hw
