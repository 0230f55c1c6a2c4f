#include "hw/doctor/rdma_host.h"

#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include <fstream>

#include "hw/fabric/make_link.h"

namespace hoccl::hw {
namespace {

/// The kernel asks for CAP_IPC_LOCK of the first user namespace: root of a container without
/// privileges has it in its own only.
bool is_in_first_user_namespace() {
  std::ifstream file("/proc/self/uid_map");
  std::uint64_t inside = 0;
  std::uint64_t outside = 0;
  std::uint64_t count = 0;
  file >> inside >> outside >> count;
  return file && inside == 0 && outside == 0 && count == 0xffffffff;
}

bool has_ipc_lock() {
  std::ifstream file("/proc/self/status");
  std::string word;
  while (file >> word) {
    if (word != "CapEff:") continue;
    std::uint64_t capabilities = 0;
    file >> std::hex >> capabilities;
    return (capabilities >> CAP_IPC_LOCK & 1) != 0;
  }
  return false;
}

std::optional<std::uint64_t> locked_bytes_max() {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return std::nullopt;
  }
  return limit.rlim_cur;
}

}  // namespace

RdmaHost this_rdma_host() {
  utsname system = {};
  ::uname(&system);
  return {.kernel_release = system.release,
          .locked_bytes_max = locked_bytes_max(),
          .may_lock_all = has_ipc_lock() && is_in_first_user_namespace(),
          .has_verbs_link = has_verbs()};
}

}  // namespace hoccl::hw
