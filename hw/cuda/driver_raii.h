#pragma once

#include <cuda.h>
#include <cudaTypedefs.h>

namespace hoccl::hw {

/// The calls of the CUDA driver that the runtime does not have. Found when they are first needed,
/// not linked: a program with CUDA built in must start on machines without a driver.
struct CudaDriver {
  PFN_cuStreamWriteValue32_v11070 stream_write_value_32 = nullptr;
  PFN_cuStreamWriteValue64_v11070 stream_write_value_64 = nullptr;
  PFN_cuStreamWaitValue64_v11070 stream_wait_value_64 = nullptr;
  PFN_cuMemGetAddressRange_v3020 address_range = nullptr;
  PFN_cuPointerGetAttribute_v4000 pointer_attribute = nullptr;
  PFN_cuMemGetHandleForAddressRange_v11070 handle_for_range = nullptr;
  PFN_cuFlushGPUDirectRDMAWrites_v11030 flush_rdma_writes = nullptr;

  /// Throws CudaError when there is no driver or it lacks one of them.
  static const CudaDriver& get();
};

/// As require_cuda(), for results of the driver.
void require_driver(CUresult result, const char* what);

}  // namespace hoccl::hw
