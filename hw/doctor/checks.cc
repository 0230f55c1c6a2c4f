#include "hw/doctor/checks.h"

#include "hw/doctor/device_checks.h"
#include "hw/doctor/system_checks.h"

namespace hoccl::hw {

std::vector<Check> check_machine(const Demand& demand) {
  return {check_cores(demand.ranks),
          check_memory(demand.slot_memory),
          check_open_files(demand.ranks),
          check_pinned_memory(),
          check_shared_memory(),
          check_futex(),
          check_unix_sockets(),
          check_loopback(),
          check_launcher(),
          check_gpus(),
          check_rdma_devices()};
}

}  // namespace hoccl::hw
