#pragma once

#include "hw/doctor/checks.h"

namespace hoccl::hw {

// What other backends would use. Looks into the system's files only.
Check check_gpus();

}  // namespace hoccl::hw
