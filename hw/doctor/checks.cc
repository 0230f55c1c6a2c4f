#include "hw/doctor/checks.h"

#include "hw/doctor/device_checks.h"
#include "hw/doctor/rdma_checks.h"
#include "hw/doctor/rdma_host.h"
#include "hw/doctor/system_checks.h"

namespace hoccl::hw {

std::vector<Check> check_machine(const Demand& demand) {
  const RdmaHost host = this_rdma_host();
  std::vector<Check> checks = {check_cores(demand.ranks),
                               check_memory(demand.slot_memory),
                               check_open_files(demand.ranks),
                               check_pinned_memory(host),
                               check_shared_memory(),
                               check_futex(),
                               check_unix_sockets(),
                               check_loopback(),
                               check_launcher(),
                               check_gpus()};
  const std::vector<Check> rdma = check_rdma(host);
  checks.insert(checks.end(), rdma.begin(), rdma.end());
  return checks;
}

}  // namespace hoccl::hw
