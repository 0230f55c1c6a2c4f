#include "hw/calibrate/calibrate.h"

#include <fmt/format.h>

#include "engine/base/config_error.h"
#ifdef HOCCL_WITH_CUDA
#include "hw/calibrate/cuda_calibration.h"
#include "hw/cuda/cuda_devices.h"
#endif

namespace hoccl::hw {

using engine::ConfigError;

#ifdef HOCCL_WITH_CUDA

void require_gpu(int device) {
  const std::size_t count = cuda_gpus().size();
  if (count == 0) throw ConfigError("hoccl calibrate: this machine has no GPU that CUDA can use");
  if (device < 0 || static_cast<std::size_t>(device) >= count) {
    throw ConfigError(fmt::format("--device {}: expected a GPU from 0 to {}", device, count - 1));
  }
}

MachineSamples measure_machine(int device, const std::vector<std::string>& gate_words,
                               const Progress& progress) {
  require_gpu(device);
  return measure_with_cuda(device, gate_words, progress);
}

Samples measure_gates_here(int device) {
  require_gpu(device);
  return measure_gates_with_cuda(device);
}

#else

void require_gpu(int /*device*/) {
  throw ConfigError(
      "hoccl calibrate: this program was built without CUDA; configure with -DHOCCL_CUDA=ON");
}

MachineSamples measure_machine(int device, const std::vector<std::string>& /*gate_words*/,
                               const Progress& /*progress*/) {
  require_gpu(device);
  return {};
}

Samples measure_gates_here(int device) {
  require_gpu(device);
  return {};
}

#endif

}  // namespace hoccl::hw
