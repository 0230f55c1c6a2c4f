#pragma once

#include <string>
#include <vector>

#include "hw/nic/rdma_device.h"

namespace hoccl::hw {

/// What plays one NIC of the topology.
struct NicPort {
  std::string device;
  int port = 0;
  bool operator==(const NicPort&) const = default;
};

/// Which port of this host serves each of the `nics_per_node` NICs of node `node` of the topology.
///
/// `spec` is --rdma-devices: lists of "device[:port]", the entries of a list separated by ',' and
/// the lists of nodes by '/', both taken in turn when there are fewer than NICs or nodes:
/// "rxe0,rxe2/rxe1,rxe3". Without a port it is the device's first active one. Only the list of this
/// node must be of this host.
///
/// Empty: active ports only. NIC i has the one nearest to the GPU at `gpu_pci_paths[i]`, of equally
/// near ones the one whose device serves the fewest NICs so far, then the first in `devices`. A NIC
/// whose GPU is not known (no path, or an empty one) has the port that serves the fewest. Devices
/// and GPUs are as read from sysfs; the GPUs' NUMA nodes are read beside them.
///
/// Throws ConfigError.
std::vector<NicPort> choose_nics(const std::string& spec, int node, int nics_per_node,
                                 const std::vector<RdmaDevice>& devices,
                                 const std::vector<std::string>& gpu_pci_paths);

}  // namespace hoccl::hw
