#include <unistd.h>

#include <random>

#include "engine/base/config_error.h"
#include "hw/device/device.h"
#include "hw/device/gpu_files.h"
#include "hw/device/host_device.h"
#ifdef HOCCL_WITH_CUDA
#include <fmt/format.h>

#include "hw/cuda/cuda_devices.h"
#include "hw/device/cuda_device.h"
#endif

namespace hoccl::hw {
namespace {

#ifndef HOCCL_WITH_CUDA
constexpr const char* kNotBuilt =
    "copy = 'cuda': expected host, because this program is built with HOCCL_CUDA=OFF";
#endif

}  // namespace

std::unique_ptr<Device> make_device(const HwOptions& options,
                                    [[maybe_unused]] const engine::Topology& topology,
                                    [[maybe_unused]] engine::Rank rank) {
  switch (options.copy) {
    case CopyKind::kHost:
      return std::make_unique<HostDevice>(options.copy_threads);
    case CopyKind::kCuda:
#ifdef HOCCL_WITH_CUDA
      return make_cuda_device(options, topology, rank);
#else
      throw engine::ConfigError(kNotBuilt);
#endif
  }
  return nullptr;
}

std::uint64_t process_token() {
  static const std::uint64_t drawn = [] {
    std::random_device source;
    return std::uint64_t{source()} << 32 | source();
  }();
  // A child of fork() has drawn what its parent has.
  constexpr std::uint64_t kSpread = 0x9e3779b97f4a7c15U;
  return drawn ^ (static_cast<std::uint64_t>(::getpid()) * kSpread);
}

std::vector<std::string> describe_gpus() {
  std::vector<std::string> lines;
#ifdef HOCCL_WITH_CUDA
  const CudaVersions versions = cuda_versions();
  for (const CudaGpu& gpu : cuda_gpus()) {
    lines.push_back(fmt::format(
        "{}: {}, {} SMs, {} copy engines, {:.0f} GiB{}", gpu.ordinal, gpu.name, gpu.multiprocessors,
        gpu.copy_engines, static_cast<double>(gpu.memory_bytes) / 0x1p30,
        gpu.memory_operations_64 ? "" : ", no 64-bit stream memory operations"));
  }
  if (!lines.empty()) {
    lines.back() += fmt::format(" (driver {}, CUDA {})", versions.driver, versions.runtime);
  }
#endif
  return lines;
}

std::vector<std::string> gpu_bus_ids() {
  std::vector<std::string> ids;
#ifdef HOCCL_WITH_CUDA
  for (const CudaGpu& gpu : cuda_gpus()) ids.push_back(gpu.bus_id);
#endif
  return ids;
}

bool has_cuda() {
#ifdef HOCCL_WITH_CUDA
  return true;
#else
  return false;
#endif
}

void require_available(CopyKind kind) {
  switch (kind) {
    case CopyKind::kHost:
      return;
    case CopyKind::kCuda:
#ifdef HOCCL_WITH_CUDA
      if (!gpu_files().empty()) return;
      throw engine::ConfigError(
          "copy = 'cuda': expected host, because this machine has no GPU (no /dev/nvidia<n>)");
#else
      throw engine::ConfigError(kNotBuilt);
#endif
  }
}

}  // namespace hoccl::hw
