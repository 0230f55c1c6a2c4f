#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace hoccl::hw {

enum class GidKind : std::uint8_t { kInfiniBand, kRoceV1, kRoceV2 };

/// One address of a port.
struct GidEntry {
  int index = 0;  ///< in the port's table, which has gaps
  std::array<std::byte, 16> gid = {};
  GidKind kind = GidKind::kInfiniBand;
  std::string net_device = {};  ///< the network interface it comes from, as "eth0"; may be empty
};

struct RdmaPort {
  int number = 0;  ///< from 1
  bool active = false;
  std::string state = {};  ///< as in sysfs: "4: ACTIVE"
  bool is_infiniband = false;
  int lid = 0;                      ///< 0 on Ethernet
  std::string rate = {};            ///< as in sysfs: "100 Gb/sec (4X EDR)"
  std::vector<GidEntry> gids = {};  ///< those in use, by index
};

struct RdmaDevice {
  std::string name = {};  ///< as "mlx5_0"
  /// "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0"; empty for software devices.
  std::string pci_path = {};
  int numa_node = -1;  ///< -1: unknown
  std::vector<RdmaPort> ports = {};
};

}  // namespace hoccl::hw
