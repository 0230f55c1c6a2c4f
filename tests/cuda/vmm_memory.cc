#include "tests/cuda/vmm_memory.h"

#include <cuda.h>
#include <cudaTypedefs.h>

#include "hw/cuda/cuda_error.h"
#include "hw/cuda/cuda_raii.h"
#include "hw/cuda/driver_raii.h"

namespace hoccl::hw {
namespace {

/// All of them are there since CUDA 10.2.
template <class Function>
Function driver_call(const char* name) {
  void* address = nullptr;
  cudaDriverEntryPointQueryResult found{};
  require_cuda(cudaGetDriverEntryPointByVersion(name, &address, 10020, cudaEnableDefault, &found),
               name);
  if (address == nullptr) throw CudaError(name);
  return reinterpret_cast<Function>(address);
}

CUmemAllocationProp properties() {
  CUmemAllocationProp wanted{};
  wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  wanted.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  return wanted;
}

}  // namespace

VmmMemory::VmmMemory(std::size_t size) {
  const CUmemAllocationProp wanted = properties();
  std::size_t grain = 0;
  require_driver(
      driver_call<PFN_cuMemGetAllocationGranularity_v10020>("cuMemGetAllocationGranularity")(
          &grain, &wanted, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
      "ask for the grain of memory");
  size_ = (size + grain - 1) / grain * grain;
  CUmemGenericAllocationHandle handle{};
  require_driver(driver_call<PFN_cuMemCreate_v10020>("cuMemCreate")(&handle, size_, &wanted, 0),
                 "create memory");
  handle_ = handle;
  CUdeviceptr address{};
  require_driver(
      driver_call<PFN_cuMemAddressReserve_v10020>("cuMemAddressReserve")(&address, size_, 0, 0, 0),
      "reserve addresses");
  address_ = address;
  require_driver(driver_call<PFN_cuMemMap_v10020>("cuMemMap")(address, size_, 0, handle, 0),
                 "map memory");
  CUmemAccessDesc access{};
  access.location = wanted.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  require_driver(
      driver_call<PFN_cuMemSetAccess_v10020>("cuMemSetAccess")(address, size_, &access, 1),
      "allow access to memory");
}

VmmMemory::~VmmMemory() {
  driver_call<PFN_cuMemUnmap_v10020>("cuMemUnmap")(address_, size_);
  driver_call<PFN_cuMemRelease_v10020>("cuMemRelease")(handle_);
  driver_call<PFN_cuMemAddressFree_v10020>("cuMemAddressFree")(address_, size_);
}

}  // namespace hoccl::hw
