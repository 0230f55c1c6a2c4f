#pragma once

#include <string>
#include <vector>

namespace hoccl::hw {

/// The device files of NVIDIA GPUs, as "nvidia0", sorted. Starts no driver.
std::vector<std::string> gpu_files();

}  // namespace hoccl::hw
