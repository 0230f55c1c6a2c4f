#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hoccl::hw {

/// One GPU as CUDA sees it.
struct CudaGpu {
  int ordinal = 0;
  std::string name;
  int major = 0;  ///< compute capability
  int minor = 0;
  int multiprocessors = 0;
  int copy_engines = 0;
  std::int64_t memory_bytes = 0;
  bool memory_operations_64 = false;  ///< streams can write and wait for 64-bit words
  std::string bus_id;                 ///< on the PCI bus: "0000:1b:00.0"
};

/// What all GPUs of this process run on.
struct CudaVersions {
  std::string driver;   ///< of the kernel module, as "580.159.04"; empty if it does not say
  std::string runtime;  ///< of the toolkit this program was built with, as "13.0"
};

/// Before the first call to CUDA of a process, and only what the user has not set: kernels are
/// loaded when the program starts, because loading one lazily can block a copy behind a stream that
/// waits (reference: mscclpp issue 394); and streams get as many queues of the hardware as there
/// are, 32, because in a shared one a stream that waits at a gate would hold up another rank's
/// copies.
void prepare_cuda();

/// All that this process may use; empty where there is no driver. Throws CudaError otherwise.
std::vector<CudaGpu> cuda_gpus();
CudaVersions cuda_versions();

/// Makes it the device of this thread; cheap when it is already.
void use_cuda_device(int ordinal);

}  // namespace hoccl::hw
