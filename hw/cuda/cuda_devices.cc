#include "hw/cuda/cuda_devices.h"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <fstream>

#include "hw/cuda/cuda_raii.h"

namespace hoccl::hw {
namespace {

CudaGpu describe(int ordinal) {
  const auto attribute = [&](cudaDeviceAttr which) {
    int value = 0;
    require_cuda(cudaDeviceGetAttribute(&value, which, ordinal), "ask the GPU what it can");
    return value;
  };
  cudaDeviceProp properties{};
  require_cuda(cudaGetDeviceProperties(&properties, ordinal), "ask the GPU what it is");
  std::array<char, 32> bus_id{};
  require_cuda(cudaDeviceGetPCIBusId(bus_id.data(), static_cast<int>(bus_id.size()), ordinal),
               "ask the GPU where it is");
  return {.ordinal = ordinal,
          .name = properties.name,
          .major = properties.major,
          .minor = properties.minor,
          .multiprocessors = properties.multiProcessorCount,
          .copy_engines = properties.asyncEngineCount,
          .memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem),
          // The runtime has no name for it: CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS.
          .memory_operations_64 = attribute(cudaDevAttrReserved122) != 0,
          .bus_id = bus_id.data()};
}

}  // namespace

void prepare_cuda() {
  ::setenv("CUDA_MODULE_LOADING", "EAGER", /*replace=*/0);
  ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", /*replace=*/0);
}

std::vector<CudaGpu> cuda_gpus() {
  prepare_cuda();
  int count = 0;
  const cudaError_t result = cudaGetDeviceCount(&count);
  if (result == cudaErrorNoDevice || result == cudaErrorInsufficientDriver ||
      result == cudaErrorStubLibrary) {
    return {};
  }
  require_cuda(result, "count the GPUs");
  std::vector<CudaGpu> gpus;
  for (int ordinal = 0; ordinal < count; ++ordinal) gpus.push_back(describe(ordinal));
  return gpus;
}

CudaVersions cuda_versions() {
  CudaVersions versions;
  versions.runtime = fmt::format("{}.{}", CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
  std::ifstream file("/sys/module/nvidia/version");
  std::getline(file, versions.driver);
  if (!versions.driver.empty()) return versions;
  // "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build ..."
  std::ifstream text("/proc/driver/nvidia/version");
  std::string word;
  while (text >> word) {
    if (word.find_first_not_of("0123456789.") == std::string::npos && word.size() > 4) {
      versions.driver = word;
      break;
    }
  }
  return versions;
}

void use_cuda_device(int ordinal) {
  thread_local int used = -1;
  if (used == ordinal) return;
  require_cuda(cudaSetDevice(ordinal), "use the GPU");
  used = ordinal;
}

}  // namespace hoccl::hw
