#include "hw/run/host_description.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <string_view>

namespace hoccl::hw {
namespace {

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown CPU";
}

int usable_cores() {
  cpu_set_t cores;
  if (::sched_getaffinity(0, sizeof(cores), &cores) != 0) return 1;
  return CPU_COUNT(&cores);
}

}  // namespace

HostDescription describe_host() {
  utsname system = {};
  ::uname(&system);
  return {.cpu = cpu_model(),
          .cores = usable_cores(),
          .machine_cores = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)),
          .kernel = std::string(system.sysname) + " " + system.release};
}

std::string cores_of(const HostDescription& host) {
  const bool all = host.cores >= host.machine_cores;
  const std::string of = all ? "" : fmt::format(" of {}", host.machine_cores);
  return fmt::format("{}{} core{}{}", host.cores, of, host.machine_cores == 1 ? "" : "s",
                     all ? "" : " usable");
}

engine::Bytes available_memory() {
  std::ifstream file("/proc/meminfo");
  std::string key;
  std::int64_t kibibytes = 0;
  std::string unit;
  while (file >> key >> kibibytes >> unit) {
    if (key == "MemAvailable:") return engine::Bytes(kibibytes << 10);
  }
  return engine::Bytes(0);
}

}  // namespace hoccl::hw
