#include "hw/calibrate/registration_cost.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>

#include "engine/base/config_error.h"
#include "hw/nic/read_rdma_devices.h"
#include "hw/nic/sysfs.h"
#include "hw/run/host_description.h"
#ifdef HOCCL_WITH_VERBS
#include "hw/calibrate/registration_bench.h"
#endif

namespace hoccl::hw {

using engine::Bytes;
using engine::ConfigError;

namespace {

constexpr const char* kOption = "--registration";

RdmaDevice find_device(const std::string& text) {
  const std::string name = text.substr(0, text.find(':'));
  const std::vector<RdmaDevice> devices = read_rdma_devices();
  const auto found = std::ranges::find(devices, name, &RdmaDevice::name);
  if (found != devices.end()) return *found;
  std::vector<std::string> names;
  for (const RdmaDevice& device : devices) names.push_back(device.name);
  throw ConfigError(
      fmt::format("{} = '{}': expected an RDMA device of this machine, which has {}", kOption, text,
                  names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
}

std::string describe(const RdmaDevice& device) {
  if (device.pci_path.empty()) return device.name + ", software device";
  std::error_code error;
  const std::filesystem::path driver =
      std::filesystem::read_symlink(device.pci_path + "/driver", error);
  const std::optional<std::string> firmware =
      read_line("/sys/class/infiniband/" + device.name + "/fw_ver");
  return fmt::format("{}, driver {}, firmware {}", device.name,
                     error ? "unknown" : driver.filename().string(), firmware.value_or("unknown"));
}

}  // namespace

#ifdef HOCCL_WITH_VERBS

void require_registration(const RegistrationRequest& request) {
  find_device(request.device);
  if (request.begin > request.end) {
    throw ConfigError(fmt::format("--begin = '{}': expected no more than --end = '{}'",
                                  to_string(request.begin), to_string(request.end)));
  }
  if (const Bytes free = available_memory(); request.end > free) {
    throw ConfigError(fmt::format("--end = '{}': expected no more than the free memory, {} MiB",
                                  to_string(request.end), free.count() >> 20));
  }
}

Samples measure_registration(const RegistrationRequest& request, const Progress& progress) {
  require_registration(request);
  return measure_with_verbs(request, progress);
}

#else

void require_registration(const RegistrationRequest& /*request*/) {
  throw ConfigError(fmt::format(
      "{}: this program was built without RDMA; configure with -DHOCCL_VERBS=ON", kOption));
}

Samples measure_registration(const RegistrationRequest& request, const Progress& /*progress*/) {
  require_registration(request);
  return {};
}

#endif

RegistrationMachine describe_registration(const std::string& device) {
  const RdmaDevice found = find_device(device);
  const HostDescription host = describe_host();
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  RegistrationMachine machine{
      .device = describe(found),
      .host = fmt::format("{}, {}, {}", host.cpu, cores_of(host), host.kernel),
      .huge_pages = read_line("/sys/kernel/mm/transparent_hugepage/enabled").value_or("unknown"),
      .date = fmt::format("{:%Y-%m-%d}", fmt::gmtime(now)),
      .emulated = {}};
  if (found.pci_path.empty()) {
    machine.emulated.push_back(
        fmt::format("{} is a software device (Soft-RoCE): says nothing about a NIC", found.name));
  }
  // As QEMU names it when it translates every instruction.
  if (host.cpu.find("TCG") != std::string::npos) {
    machine.emulated.emplace_back("the CPU is emulated: times are many times a real one's");
  }
  return machine;
}

}  // namespace hoccl::hw
