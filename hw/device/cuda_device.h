#pragma once

#include <memory>

#include "hw/device/device.h"

namespace hoccl::hw {

/// The CUDA device that plays the rank's GPU. Ranks of one process may share it. Throws ConfigError
/// when it is not there.
std::unique_ptr<Device> make_cuda_device(const HwOptions& options, const engine::Topology& topology,
                                         engine::Rank rank);

}  // namespace hoccl::hw
