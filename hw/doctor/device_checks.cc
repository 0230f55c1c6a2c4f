#include "hw/doctor/device_checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fstream>

#include "hw/device/device.h"
#include "hw/device/gpu_files.h"

namespace hoccl::hw {
namespace {

/// The first line of the kernel module's version file; empty without one.
std::string driver_version() {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string line;
  std::getline(file, line);
  return line;
}

Check check_cuda() {
  try {
    const std::vector<std::string> gpus = describe_gpus();
    if (!gpus.empty()) return {"GPUs", Finding::kOk, fmt::format("{}", fmt::join(gpus, "; ")), ""};
    return {"GPUs", Finding::kWarning, "CUDA finds none",
            "a driver of 580 or later, and CUDA_VISIBLE_DEVICES"};
  } catch (const std::runtime_error& error) {
    return {"GPUs", Finding::kWarning, error.what(), "nvidia-smi says more"};
  }
}

}  // namespace

Check check_gpus() {
  const std::vector<std::string> gpus = gpu_files();
  const std::string driver = driver_version();
  if (gpus.empty() && driver.empty()) {
    return {"GPUs", Finding::kInfo, "none", "not needed: --copy host moves the bytes"};
  }
  if (gpus.empty()) {
    return {"GPUs", Finding::kWarning, fmt::format("a driver ({}), but no /dev/nvidia<n>", driver),
            "give this container its GPUs"};
  }
  if (!has_cuda()) {
    return {"GPUs", Finding::kInfo,
            fmt::format("{} ({})", fmt::join(gpus, ", "), driver.empty() ? "no driver" : driver),
            "for --copy cuda build with HOCCL_CUDA=ON"};
  }
  return check_cuda();
}

}  // namespace hoccl::hw
