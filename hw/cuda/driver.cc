#include <fmt/format.h>

#include "hw/cuda/cuda_error.h"
#include "hw/cuda/cuda_raii.h"
#include "hw/cuda/driver_raii.h"

namespace hoccl::hw {
namespace {

/// `version`: of the interface, as its type's name has it: 11070 for ..._v11070.
template <class Function>
void find(Function& function, const char* name, unsigned version) {
  void* address = nullptr;
  cudaDriverEntryPointQueryResult found{};
  require_cuda(cudaGetDriverEntryPointByVersion(name, &address, version, cudaEnableDefault, &found),
               name);
  if (found != cudaDriverEntryPointSuccess || address == nullptr) {
    throw CudaError(fmt::format("the CUDA driver has no {}", name));
  }
  function = reinterpret_cast<Function>(address);
}

CudaDriver load() {
  CudaDriver driver;
  find(driver.stream_write_value_32, "cuStreamWriteValue32", 11070);
  find(driver.stream_write_value_64, "cuStreamWriteValue64", 11070);
  find(driver.stream_wait_value_64, "cuStreamWaitValue64", 11070);
  find(driver.address_range, "cuMemGetAddressRange", 3020);
  find(driver.pointer_attribute, "cuPointerGetAttribute", 4000);
  find(driver.handle_for_range, "cuMemGetHandleForAddressRange", 11070);
  find(driver.flush_rdma_writes, "cuFlushGPUDirectRDMAWrites", 11030);
  return driver;
}

}  // namespace

const CudaDriver& CudaDriver::get() {
  static const CudaDriver driver = load();
  return driver;
}

void require_driver(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  throw CudaError(fmt::format("{}: error {} of the CUDA driver", what, static_cast<int>(result)));
}

}  // namespace hoccl::hw
