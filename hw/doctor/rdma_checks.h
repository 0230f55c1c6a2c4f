#pragma once

#include <vector>

#include "hw/doctor/checks.h"
#include "hw/doctor/rdma_host.h"

namespace hoccl::hw {

// What --link verbs would use. Where this program does not have it nothing here is worse than
// kInfo: no run can fail of it.

/// The RDMA devices; where there are any, each of their ports, the memory they can reach and
/// whether this process may use them. Opens no device.
std::vector<Check> check_rdma(const RdmaHost& host);

/// How much memory may be registered.
Check check_pinned_memory(const RdmaHost& host);

}  // namespace hoccl::hw
