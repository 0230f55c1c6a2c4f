#pragma once

#include "engine/base/units.h"

namespace hoccl::hw {

/// Seconds of the host's monotonic clock, the same in all its processes.
engine::Seconds monotonic_now();

}  // namespace hoccl::hw
