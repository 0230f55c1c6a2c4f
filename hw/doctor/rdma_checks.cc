#include "hw/doctor/rdma_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "hw/doctor/registration_check.h"
#include "hw/doctor/verbs_files.h"
#include "hw/nic/gid_choice.h"
#include "hw/nic/nvidia_gpus.h"
#include "hw/nic/pcie_path.h"
#include "hw/nic/read_rdma_devices.h"

namespace hoccl::hw {
namespace {

Check only_told(Check check) {
  check.finding = std::min(check.finding, Finding::kInfo);
  return check;
}

bool has_active_port(const RdmaDevice& device) {
  return std::ranges::any_of(device.ports, &RdmaPort::active);
}

Check check_devices(const RdmaHost& host, const std::vector<RdmaDevice>& devices) {
  if (devices.empty()) {
    return {"RDMA devices", Finding::kInfo, "none", "not needed: --link loopback plays the NICs"};
  }
  std::string found;
  for (const RdmaDevice& device : devices) found += (found.empty() ? "" : ", ") + device.name;
  if (!host.has_verbs_link) {
    return {"RDMA devices", Finding::kInfo, found, "for --link verbs build with HOCCL_VERBS=ON"};
  }
  if (std::ranges::none_of(devices, has_active_port)) {
    return {"RDMA devices", Finding::kWarning, found + ": no port is active",
            "--link loopback only, until one is"};
  }
  return {"RDMA devices", Finding::kOk, found, ""};
}

/// ", nearest GPU 0000:3b:00.0: same PCIe switch"; empty where nothing is known.
std::string nearest_gpu(const RdmaDevice& device, const std::vector<NvidiaGpu>& gpus) {
  const NvidiaGpu* nearest = nullptr;
  PcieDistance distance = PcieDistance::kUnknown;
  for (const NvidiaGpu& gpu : gpus) {
    const PcieDistance to_gpu =
        pcie_distance(device.pci_path, gpu.pci_path, device.numa_node, gpu.numa_node);
    if (to_gpu >= distance) continue;
    distance = to_gpu;
    nearest = &gpu;
  }
  if (nearest == nullptr) return {};
  return fmt::format(", nearest GPU {}: {}",
                     std::filesystem::path(nearest->pci_path).filename().string(),
                     to_string(distance));
}

std::string advice_for_inactive(const RdmaPort& port) {
  if (!port.is_infiniband) return "ip link set … up (`rdma link` names it), or its cable";
  if (port.state.starts_with("2:") || port.state.starts_with("3:")) {
    return "a subnet manager must run (opensm, or the switch's)";
  }
  return "its cable, or the switch's port";
}

Check check_port(const RdmaDevice& device, const RdmaPort& port,
                 const std::vector<NvidiaGpu>& gpus) {
  const std::string subject = fmt::format("{}:{}", device.name, port.number);
  const std::string link = fmt::format("{}, {}, {}", port.state,
                                       port.is_infiniband ? "InfiniBand" : "Ethernet", port.rate);
  if (!port.active) return {subject, Finding::kInfo, link, advice_for_inactive(port)};
  const std::optional<int> gid = best_gid(port);
  if (!gid) {
    return {subject, Finding::kProblem, link + ", no RoCE v2 GID", no_gid_advice(port)};
  }
  const auto entry = std::ranges::find(port.gids, *gid, &GidEntry::index);
  return {subject, Finding::kOk,
          fmt::format("{}, GID {}{}", link,
                      entry == port.gids.end() ? fmt::format("{}", *gid) : gid_text(*entry),
                      nearest_gpu(device, gpus)),
          ""};
}

}  // namespace

std::vector<Check> check_rdma(const RdmaHost& host) {
  const std::vector<RdmaDevice> devices = read_rdma_devices(host.sys);
  std::vector<Check> checks = {check_devices(host, devices)};
  if (devices.empty()) return checks;
  const std::vector<NvidiaGpu> gpus = read_nvidia_gpus(host.sys);
  for (const RdmaDevice& device : devices) {
    for (const RdmaPort& port : device.ports) checks.push_back(check_port(device, port, gpus));
  }
  checks.push_back(check_verbs_files(host, devices));
  checks.push_back(check_registration(host, devices, !gpus.empty()));
  if (!host.has_verbs_link) std::ranges::transform(checks, checks.begin(), only_told);
  return checks;
}

Check check_pinned_memory(const RdmaHost& host) {
  constexpr std::string_view kSubject = "pinned memory";
  if (!host.locked_bytes_max) return {std::string(kSubject), Finding::kOk, "unlimited", ""};
  const std::string found = fmt::format(
      "at most {}", to_string(engine::Bytes(static_cast<std::int64_t>(*host.locked_bytes_max))));
  if (host.may_lock_all) {
    return {std::string(kSubject), Finding::kOk,
            found + ", which does not hold for this process (CAP_IPC_LOCK)", ""};
  }
  if (!host.has_verbs_link || verbs_files(host.dev).empty()) {
    return {std::string(kSubject), Finding::kInfo, found,
            "enough here; RDMA and GPUs will want ulimit -l unlimited"};
  }
  return {std::string(kSubject), Finding::kProblem, found,
          "registering memory for RDMA will fail: ulimit -l unlimited, which needs memlock "
          "unlimited in /etc/security/limits.conf, LimitMEMLOCK=infinity of a service, or "
          "--ulimit memlock=-1 of a container"};
}

}  // namespace hoccl::hw
