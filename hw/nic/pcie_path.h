#pragma once

#include <cstdint>
#include <string_view>

namespace hoccl::hw {

/// What two PCI devices have between them, nearest first.
enum class PcieDistance : std::uint8_t {
  /// Both lie below a bridge that is itself below a root port. A root port has one device at its
  /// end, so that bridge is a switch's upstream port, and what goes from one device to the other
  /// need not reach the host. nvidia-smi: PIX (one bridge) and PXB (several).
  kSameSwitch,
  /// No such bridge, but one host bridge, by way of which they meet. nvidia-smi: PHB.
  kSameRootComplex,
  kSameNuma,  ///< two host bridges of one NUMA node. nvidia-smi: NODE.
  kFar,       ///< two NUMA nodes. nvidia-smi: SYS.
  kUnknown,   ///< one is no PCI device, or host bridges differ and a NUMA node is unknown
};

/// From the canonical paths of the devices in sysfs, empty for what is no PCI device, and their
/// NUMA nodes, -1 for unknown.
PcieDistance pcie_distance(std::string_view path_a, std::string_view path_b, int numa_a,
                           int numa_b);

/// For people.
std::string_view to_string(PcieDistance distance);

}  // namespace hoccl::hw
