#include "hw/nic/nic_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>

#include "engine/base/check.h"
#include "engine/base/config_error.h"
#include "hw/nic/pcie_path.h"
#include "hw/nic/sysfs.h"

namespace hoccl::hw {
namespace {

using engine::ConfigError;

/// Also when there is nothing between two separators, or nothing at all.
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t end = text.find(separator); end != std::string_view::npos;
       end = text.find(separator)) {
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  parts.push_back(text);
  return parts;
}

/// "rxe0:1 (4: ACTIVE), rxe1:1 (1: DOWN)"
std::string ports_text(const std::vector<RdmaDevice>& devices) {
  std::string text;
  for (const RdmaDevice& device : devices) {
    if (device.ports.empty()) {
      text += fmt::format("{}{} (no ports)", text.empty() ? "" : ", ", device.name);
    }
    for (const RdmaPort& port : device.ports) {
      text += fmt::format("{}{}:{} ({})", text.empty() ? "" : ", ", device.name, port.number,
                          port.state);
    }
  }
  return text;
}

/// The option --rdma-devices.
class DeviceList {
 public:
  DeviceList(const std::string& spec, const std::vector<RdmaDevice>& devices)
      : spec_(spec), devices_(devices) {
    for (const std::string_view node : split(spec_, '/')) {
      nodes_.emplace_back();
      for (const std::string_view entry : split(node, ',')) nodes_.back().push_back(parse(entry));
    }
  }

  [[nodiscard]] std::vector<NicPort> of_node(std::size_t node) const {
    std::vector<NicPort> ports;
    for (const Entry& entry : nodes_[node % nodes_.size()]) ports.push_back(find(entry));
    return ports;
  }

 private:
  struct Entry {
    std::string device;
    std::optional<int> port;
  };

  [[noreturn]] void fail(const std::string& why) const {
    throw ConfigError(fmt::format("rdma-devices = '{}': {}", spec_, why));
  }
  [[noreturn]] void fail_here(const std::string& why) const {
    fail(fmt::format("{}; this host has {}", why,
                     devices_.empty() ? "no RDMA device" : ports_text(devices_)));
  }

  [[nodiscard]] Entry parse(std::string_view text) const {
    const std::size_t colon = text.find(':');
    Entry entry{.device = std::string(text.substr(0, colon)), .port = std::nullopt};
    bool is_good = !entry.device.empty();
    if (colon != std::string_view::npos) {
      const char* end = text.data() + text.size();
      int port = 0;
      const auto [rest, error] = std::from_chars(text.data() + colon + 1, end, port);
      is_good = is_good && error == std::errc() && rest == end && port > 0;
      entry.port = port;
    }
    if (!is_good) {
      fail(
          fmt::format("'{}' is no device[:port]; expected lists as rxe0,rxe2:1/rxe1,rxe3:1, one "
                      "for each node",
                      text));
    }
    return entry;
  }

  [[nodiscard]] NicPort find(const Entry& entry) const {
    const auto device = std::ranges::find(devices_, entry.device, &RdmaDevice::name);
    if (device == devices_.end()) fail_here(fmt::format("there is no {}", entry.device));
    const auto port = entry.port ? std::ranges::find(device->ports, *entry.port, &RdmaPort::number)
                                 : std::ranges::find(device->ports, true, &RdmaPort::active);
    if (port == device->ports.end()) {
      fail_here(entry.port ? fmt::format("{} has no port {}", entry.device, *entry.port)
                           : fmt::format("{} has no active port", entry.device));
    }
    if (!port->active) fail_here(fmt::format("{}:{} is not active", entry.device, port->number));
    return {.device = device->name, .port = port->number};
  }

  const std::string& spec_;
  const std::vector<RdmaDevice>& devices_;
  std::vector<std::vector<Entry>> nodes_;
};

/// An active port and how many NICs it plays.
struct Candidate {
  const RdmaDevice* device = nullptr;
  int port = 0;
  int uses = 0;
};

/// Throws ConfigError when there is none.
std::vector<Candidate> active_ports(const std::vector<RdmaDevice>& devices) {
  std::vector<Candidate> active;
  for (const RdmaDevice& device : devices) {
    for (const RdmaPort& port : device.ports) {
      if (port.active) active.push_back({.device = &device, .port = port.number});
    }
  }
  if (!active.empty()) return active;
  if (devices.empty()) {
    throw ConfigError(
        "no RDMA device on this host: load the driver of its NIC, or make one of an Ethernet "
        "interface (rdma link add rxe0 type rxe netdev …); --link loopback needs none");
  }
  throw ConfigError(
      fmt::format("no RDMA device with an active port: this host has {}; bring one up (ip link "
                  "set … up, a subnet manager on InfiniBand), or look at its cable",
                  ports_text(devices)));
}

std::vector<NicPort> nearest_ports(std::size_t nics, const std::vector<RdmaDevice>& devices,
                                   const std::vector<std::string>& gpu_pci_paths) {
  std::vector<Candidate> candidates = active_ports(devices);
  std::map<const RdmaDevice*, int> device_uses;
  std::vector<NicPort> chosen;
  for (std::size_t nic = 0; nic < nics; ++nic) {
    const std::string gpu = nic < gpu_pci_paths.size() ? gpu_pci_paths[nic] : "";
    const int gpu_numa_node = read_numa_node(gpu);
    // Ports of one device share its PCIe link, which a GPU beside it can fill: other devices first.
    const auto cost = [&](const Candidate& candidate) {
      const RdmaDevice& device = *candidate.device;
      return std::tuple(pcie_distance(device.pci_path, gpu, device.numa_node, gpu_numa_node),
                        gpu.empty() ? 0 : device_uses[&device], candidate.uses);
    };
    Candidate& best = *std::ranges::min_element(candidates, {}, cost);
    ++best.uses;
    ++device_uses[best.device];
    chosen.push_back({.device = best.device->name, .port = best.port});
  }
  return chosen;
}

}  // namespace

std::vector<NicPort> choose_nics(const std::string& spec, int node, int nics_per_node,
                                 const std::vector<RdmaDevice>& devices,
                                 const std::vector<std::string>& gpu_pci_paths) {
  HOCCL_CHECK(node >= 0 && nics_per_node > 0, "node {} with {} NICs", node, nics_per_node);
  const auto nics = static_cast<std::size_t>(nics_per_node);
  if (spec.empty()) return nearest_ports(nics, devices, gpu_pci_paths);
  const std::vector<NicPort> listed =
      DeviceList(spec, devices).of_node(static_cast<std::size_t>(node));
  std::vector<NicPort> chosen;
  for (std::size_t nic = 0; nic < nics; ++nic) chosen.push_back(listed[nic % listed.size()]);
  return chosen;
}

}  // namespace hoccl::hw
