#include "hw/nic/read_rdma_devices.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include "hw/nic/sysfs.h"

namespace hoccl::hw {

namespace fs = std::filesystem;

namespace {

/// The name of a port's folder or of an entry of its tables; none for anything else.
std::optional<int> number_of(const std::string& name) {
  int number = 0;
  const char* end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(name.data(), end, number);
  if (error != std::errc() || rest != end) return std::nullopt;
  return number;
}

/// None for what the kernel does not say: entries not in use have no type. On InfiniBand a kernel
/// before 4.5 has no types at all.
std::optional<GidKind> kind_of(const std::optional<std::string>& type, bool is_infiniband) {
  if (is_infiniband) return GidKind::kInfiniBand;
  if (type == "RoCE v2") return GidKind::kRoceV2;
  if (type == "IB/RoCE v1") return GidKind::kRoceV1;
  return std::nullopt;
}

/// None when it is not in use.
std::optional<GidEntry> read_gid(const fs::path& port, int index, bool is_infiniband) {
  const std::string name = std::to_string(index);
  GidEntry entry{.index = index};
  const std::string text = read_line(port / "gids" / name).value_or("");
  if (::inet_pton(AF_INET6, text.c_str(), entry.gid.data()) != 1) return std::nullopt;
  if (entry.gid == decltype(entry.gid){}) return std::nullopt;
  const auto kind = kind_of(read_line(port / "gid_attrs" / "types" / name), is_infiniband);
  if (!kind) return std::nullopt;
  entry.kind = *kind;
  entry.net_device = read_line(port / "gid_attrs" / "ndevs" / name).value_or("");
  return entry;
}

RdmaPort read_port(const fs::path& folder, int number) {
  RdmaPort port{.number = number};
  port.state = read_line(folder / "state").value_or("unknown");
  port.active = port.state.starts_with("4:");  // IB_PORT_ACTIVE
  port.is_infiniband = read_line(folder / "link_layer") == "InfiniBand";
  const std::string lid = read_line(folder / "lid").value_or("0");
  port.lid = static_cast<int>(std::strtol(lid.c_str(), nullptr, 0));  // written as 0x1f
  port.rate = read_line(folder / "rate").value_or("unknown rate");
  for (const std::string& name : names_in(folder / "gids")) {
    const std::optional<int> index = number_of(name);
    if (!index) continue;
    auto entry = read_gid(folder, *index, port.is_infiniband);
    if (entry) port.gids.push_back(std::move(*entry));
  }
  return port;
}

}  // namespace

std::vector<RdmaDevice> read_rdma_devices(const fs::path& sys) {
  const fs::path all = sys / "class" / "infiniband";
  std::vector<RdmaDevice> devices;
  for (const std::string& name : names_in(all)) {
    RdmaDevice device{.name = name, .pci_path = pci_path_of(all / name / "device")};
    device.numa_node = read_numa_node(device.pci_path);
    for (const std::string& port : names_in(all / name / "ports")) {
      const std::optional<int> number = number_of(port);
      if (number) device.ports.push_back(read_port(all / name / "ports" / port, *number));
    }
    devices.push_back(std::move(device));
  }
  return devices;
}

}  // namespace hoccl::hw
