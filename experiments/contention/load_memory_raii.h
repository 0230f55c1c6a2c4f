#pragma once

#include <cstddef>

#include "engine/base/units.h"
#include "hw/cuda/cuda_raii.h"

namespace hoccl::contention {

/// Shared by all loads, because page-locking takes long.
struct LoadMemory {
  explicit LoadMemory(engine::Bytes size)
      : host(static_cast<std::size_t>(size.count())),
        device_source(static_cast<std::size_t>(size.count())),
        device_target(static_cast<std::size_t>(size.count())) {}

  hw::PinnedMemory host;
  hw::DeviceMemory device_source;
  hw::DeviceMemory device_target;
};

}  // namespace hoccl::contention
