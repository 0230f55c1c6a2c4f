#pragma once

#include <vector>

#include "hw/doctor/checks.h"
#include "hw/doctor/rdma_host.h"
#include "hw/nic/rdma_device.h"

namespace hoccl::hw {

/// Which memory the RDMA devices can reach: the host's always, GPUs' by dma-buf or nvidia-peermem.
Check check_registration(const RdmaHost& host, const std::vector<RdmaDevice>& devices,
                         bool has_gpus);

}  // namespace hoccl::hw
